package sqlite

import (
	"context"
	"database/sql"
	"runtime"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// prepared is statements that database/sql has parsed once for each connection, and drops with it. In SQLite
// parsing one takes several times as long as running it.
type prepared struct {
	db    *sql.DB
	texts []string
	turn  chan struct{}        // holds one while nobody prepares
	stmts map[string]*sql.Stmt // by text; written once, before done is closed
	done  chan struct{}
}

// prepare is for the statements of these verbs, which are closed when owner is not used any more.
func prepare(owner *Backend, db *sql.DB, all map[string]string, verbs ...string) *prepared {
	p := &prepared{db: db, turn: make(chan struct{}, 1), stmts: map[string]*sql.Stmt{}, done: make(chan struct{})}
	for _, verb := range verbs {
		p.texts = append(p.texts, all[verb])
	}
	p.turn <- struct{}{}
	runtime.AddCleanup(owner, func(stmts map[string]*sql.Stmt) { go closeAll(stmts) }, p.stmts)
	return p
}

func closeAll(stmts map[string]*sql.Stmt) {
	for _, stmt := range stmts {
		_ = stmt.Close() // which reports nothing of use
	}
}

// ready prepares what is not prepared yet. It must not be called by whoever has a connection: the pool
// may have no other.
func (p *prepared) ready(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	select {
	case <-p.turn:
		defer func() { p.turn <- struct{}{} }()
	case <-ctx.Done():
		return driver.NotApplied(ctx.Err())
	}
	for _, text := range p.texts {
		if p.stmts[text] != nil {
			continue
		}
		stmt, err := p.db.PrepareContext(ctx, text) //nolint:sqlclosecheck // the owner's cleanup does
		if err != nil {
			if ctx.Err() != nil {
				return driver.NotApplied(err)
			}
			return err
		}
		p.stmts[text] = stmt
	}
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}

// parsedQuerier runs what is prepared as such, and anything else as it is: in tx, or if that is nil on
// any connection of the pool.
type parsedQuerier struct {
	*prepared

	tx *sql.Tx
}

func (q parsedQuerier) Query(ctx context.Context, statement string, args []any, read func(sqlbase.Rows) error) error {
	stmt := q.stmts[statement]
	switch {
	case stmt == nil && q.tx != nil:
		return sqlbase.On(q.tx).Query(ctx, statement, args, read)
	case stmt == nil:
		return sqlbase.On(q.db).Query(ctx, statement, args, read)
	case q.tx != nil:
		stmt = q.tx.StmtContext(ctx, stmt) //nolint:sqlclosecheck // the transaction's end does
	}
	r, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer r.Close()
	return sqlbase.Finish(r, read)
}

func (q parsedQuerier) Exec(ctx context.Context, statement string, args ...any) (sqlbase.Result, error) {
	stmt := q.stmts[statement]
	switch {
	case stmt == nil && q.tx != nil:
		return sqlbase.On(q.tx).Exec(ctx, statement, args...)
	case stmt == nil:
		return sqlbase.On(q.db).Exec(ctx, statement, args...)
	case q.tx != nil:
		stmt = q.tx.StmtContext(ctx, stmt) //nolint:sqlclosecheck // the transaction's end does
	}
	r, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return sqlbase.Result{}, err
	}
	affected, err := r.RowsAffected()
	return sqlbase.Result{Affected: affected}, err
}
