package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"runtime"
	"slices"
	"sync"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// files contains the statements.
//
//go:embed sql/*.sql
var files embed.FS

// prepared contains prepared statements. They save time: SQLite takes several times as long to parse a statement as to
// run it. A statement runs from its text twice, and is prepared before its third run. So a process that acquires one lock
// prepares no statement. database/sql prepares each statement once on each connection.
type prepared struct {
	db   *sql.DB
	turn chan struct{} // a semaphore: it contains a value while no call of ready prepares statements

	mu    sync.Mutex
	stmts map[string]*sql.Stmt // keyed by text; nil if the statement is not prepared yet
	ran   map[string]bool      // true if the statement has run from its text
	due   []string             // the texts of the statements that have run from their texts twice
}

// prepare returns the statements in the files with these names. They are closed when owner is garbage-collected.
func prepare(owner *file, verbs ...string) *prepared {
	p := &prepared{db: owner.db, turn: make(chan struct{}, 1), stmts: map[string]*sql.Stmt{}, ran: map[string]bool{}}
	for _, verb := range verbs {
		p.stmts[owner.sql[verb]] = nil
	}
	p.turn <- struct{}{}
	runtime.AddCleanup(owner, func(stmts map[string]*sql.Stmt) { go closeAll(stmts) }, p.stmts)
	return p
}

func closeAll(stmts map[string]*sql.Stmt) {
	for _, stmt := range stmts {
		if stmt != nil {
			_ = stmt.Close() // the error has no consequence
		}
	}
}

// ready prepares the statements that are due. A caller that holds a connection must not call this method, because
// the pool may have no second connection.
func (p *prepared) ready(ctx context.Context) error {
	if len(p.unprepared()) == 0 {
		return nil
	}
	select {
	case <-p.turn:
		defer func() { p.turn <- struct{}{} }()
	case <-ctx.Done():
		return driver.NotApplied(ctx.Err())
	}
	for _, text := range p.unprepared() {
		stmt, err := p.db.PrepareContext(ctx, text) //nolint:sqlclosecheck // the owner's cleanup closes it
		if err != nil {
			if ctx.Err() != nil {
				return driver.NotApplied(err)
			}
			return err
		}
		p.add(text, stmt)
	}
	return nil
}

func (p *prepared) unprepared() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.due)
}

func (p *prepared) add(text string, stmt *sql.Stmt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stmts[text] = stmt
	p.due = slices.DeleteFunc(p.due, func(due string) bool { return due == text })
}

// find returns the prepared form of a statement, or nil if there is none yet.
func (p *prepared) find(text string) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	stmt, prepares := p.stmts[text]
	if prepares && stmt == nil {
		if p.ran[text] && !slices.Contains(p.due, text) {
			p.due = append(p.due, text)
		}
		p.ran[text] = true
	}
	return stmt
}

// preparedQuerier runs each statement in its prepared form if there is one, and otherwise from its text. It runs
// statements in tx, or on any connection of the pool if tx is nil.
type preparedQuerier struct {
	*prepared

	tx *sql.Tx
}

func (q preparedQuerier) Query(ctx context.Context, statement string, args []any, read func(sqlbase.Rows) error) error {
	stmt := q.find(statement)
	switch {
	case stmt == nil && q.tx != nil:
		return sqlbase.On(q.tx).Query(ctx, statement, args, read)
	case stmt == nil:
		return sqlbase.On(q.db).Query(ctx, statement, args, read)
	case q.tx != nil:
		stmt = q.tx.StmtContext(ctx, stmt) //nolint:sqlclosecheck // the end of the transaction closes it
	}
	r, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer r.Close()
	return sqlbase.Finish(r, read)
}

func (q preparedQuerier) Exec(ctx context.Context, statement string, args ...any) (sqlbase.Result, error) {
	stmt := q.find(statement)
	switch {
	case stmt == nil && q.tx != nil:
		return sqlbase.On(q.tx).Exec(ctx, statement, args...)
	case stmt == nil:
		return sqlbase.On(q.db).Exec(ctx, statement, args...)
	case q.tx != nil:
		stmt = q.tx.StmtContext(ctx, stmt) //nolint:sqlclosecheck // the end of the transaction closes it
	}
	r, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return sqlbase.Result{}, err
	}
	affected, err := r.RowsAffected()
	return sqlbase.Result{Affected: affected}, err
}
