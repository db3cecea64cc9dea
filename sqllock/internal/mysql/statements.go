package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"embed"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// files contains the statements. Only MySQL executes what is in a comment that begins with /*!80000, and only MariaDB
// what is in a comment that begins with /*M!. If too little is the same, a file in the folder mariadb replaces the file
// of the same name in the folder mysql.
//
//go:embed sql/mysql/*.sql sql/mariadb/*.sql
var files embed.FS

// preparedQuerier runs statements through a pool, and prepares each statement when it is first needed. Unless a
// statement is prepared in advance, the driver prepares, runs and closes it in each call with arguments, which takes
// two round trips. On each further connection, database/sql prepares the statement once more. Prepared statements
// keep no connection open or busy.
type preparedQuerier struct {
	db *sql.DB

	mu     sync.Mutex
	byText map[string]*sql.Stmt
}

func newPreparedQuerier(db *sql.DB) *preparedQuerier {
	return &preparedQuerier{db: db, byText: map[string]*sql.Stmt{}}
}

func (p *preparedQuerier) Query(ctx context.Context, statement string, args []any, read func(sqlbase.Rows) error) error {
	s, err := p.prepared(ctx, statement)
	if err != nil {
		return err
	}
	args, lent := marked(args)
	r, err := s.QueryContext(ctx, args...)
	if err != nil {
		return p.unlent(ctx, lent, err)
	}
	defer r.Close()
	return sqlbase.Finish(r, read)
}

func (p *preparedQuerier) Exec(ctx context.Context, statement string, args ...any) (sqlbase.Result, error) {
	if len(args) == 0 { // takes one round trip without preparing
		return sqlbase.On(p.db).Exec(ctx, statement)
	}
	s, err := p.prepared(ctx, statement)
	if err != nil {
		return sqlbase.Result{}, err
	}
	args, lent := marked(args)
	r, err := s.ExecContext(ctx, args...)
	if err != nil {
		return sqlbase.Result{}, p.unlent(ctx, lent, err)
	}
	affected, err := r.RowsAffected()
	if err != nil {
		return sqlbase.Result{}, err
	}
	lastID, err := r.LastInsertId()
	return sqlbase.Result{Affected: affected, LastID: lastID}, err
}

// prepared returns the prepared statement for a text. Its errors are marked [driver.NotApplied], because the
// statement did not run.
func (p *preparedQuerier) prepared(ctx context.Context, statement string) (*sql.Stmt, error) {
	if err := ctx.Err(); err != nil {
		return nil, driver.NotApplied(err)
	}
	p.mu.Lock()
	s := p.byText[statement]
	p.mu.Unlock()
	if s != nil {
		return s, nil
	}
	fresh, err := p.db.PrepareContext(ctx, statement)
	if err != nil {
		return nil, driver.NotApplied(fmt.Errorf("prepare: %w", sqlbase.UsageOf(p.db).Unlent(ctx, err)))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.byText[statement]; s != nil { // another goroutine prepared the statement first
		_ = fresh.Close()
		return s, nil
	}
	p.byText[statement] = fresh
	return fresh, nil
}

// lentMark wraps an argument of a statement. It sets the field lent to true when database/sql converts the argument.
// database/sql converts arguments only after the pool has lent a connection for the statement.
type lentMark struct {
	value any
	lent  *atomic.Bool
}

// Value implements [sqldriver.Valuer].
func (m lentMark) Value() (sqldriver.Value, error) {
	m.lent.Store(true)
	return sqldriver.DefaultParameterConverter.ConvertValue(m.value)
}

// marked wraps the first argument in a lentMark. The second result becomes true when the pool has lent a connection. It
// is nil if there are no arguments.
func marked(args []any) ([]any, *atomic.Bool) {
	if len(args) == 0 {
		return args, nil
	}
	lent := new(atomic.Bool)
	return append([]any{lentMark{args[0], lent}}, args[1:]...), lent
}

// unlent returns a NotApplied error if the pool lent no connection, because then the statement was not sent.
// Otherwise it returns err.
func (p *preparedQuerier) unlent(ctx context.Context, lent *atomic.Bool, err error) error {
	if lent == nil || lent.Load() {
		return err
	}
	return driver.NotApplied(sqlbase.UsageOf(p.db).Unlent(ctx, err))
}

// close closes the prepared statements on all connections of the pool.
func (p *preparedQuerier) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for text, s := range p.byText {
		_ = s.Close()
		delete(p.byText, text)
	}
}

// encoded returns the namespace and the name of key in base64, as the statements expect them.
func encoded(key driver.Key) (namespace, name string) {
	return sqlbind.MySQLBytes(key.Namespace), sqlbind.MySQLBytes(key.Name)
}

// encodedKeys returns copies of the grants whose namespaces and names are in base64, as the statements expect them.
func encodedKeys(grants []driver.Grant) []driver.Grant {
	result := make([]driver.Grant, len(grants))
	for i, g := range grants {
		g.Key.Namespace, g.Key.Name = encoded(g.Key)
		result[i] = g
	}
	return result
}
