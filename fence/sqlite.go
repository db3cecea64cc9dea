package fence

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlitefile"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// checkWait is how long a check waits for the file's write lock. A transaction that has already read may block the
// commit of the current writer, so the wait must end.
const checkWait = time.Second

// sqlite is the dialect of SQLite 3.35 and newer. A file has one writer at a time, so the write lock of the file
// replaces the lock on the mark.
type sqlite struct {
	marks

	db    *sql.DB
	table sqltable.Table
}

func newSQLite(db *sql.DB, t sqltable.Table) *sqlite {
	plain := func(s string) string { return s }
	return &sqlite{marks: marks{sql: load(t, "sqlite", `"`), encode: plain}, db: db, table: t}
}

func (s *sqlite) seal(ctx context.Context, c claim) error {
	return s.own(ctx, func(q querier) error { return s.raise(ctx, q, c) })
}

func (s *sqlite) own(ctx context.Context, work func(querier) error) error {
	return s.on(ctx, func(conn *sql.Conn) error { return s.ownOn(ctx, conn, work) })
}

// look reads in autocommit: it neither waits for the file's write lock nor takes it.
func (s *sqlite) look(ctx context.Context, work func(querier) error) error {
	return s.on(ctx, func(conn *sql.Conn) error {
		return untilFree(ctx, func() error { return work(sqlQuerier{conn: conn}) })
	})
}

// on calls the function do with a connection of the pool. During the call, the connection has a short busy timeout.
func (s *sqlite) on(ctx context.Context, do func(*sql.Conn) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // returns the connection to the pool
	q := sqlQuerier{conn: conn}
	restore, err := withBusySlice(ctx, nil, q)
	if err == nil {
		err = s.classify(ctx, q, do(conn))
		if failed := restore(); failed != nil {
			discard(conn)
		}
	}
	return err
}

// ownOn runs the function work in a transaction on conn. If the transaction cannot be ended, ownOn closes conn.
func (s *sqlite) ownOn(ctx context.Context, conn *sql.Conn, work func(querier) error) error {
	q := sqlQuerier{conn: conn}
	if err := untilFree(ctx, func() error { return q.exec(ctx, s.sql["begin_immediate"]) }); err != nil {
		discard(conn) // the server may have begun the transaction, although the call failed
		return err
	}
	err := work(q)
	if err == nil {
		err = untilFree(ctx, func() error { return q.exec(ctx, s.sql["commit"]) })
	}
	if err != nil {
		undo(ctx, conn, s.sql["rollback"])
	}
	return err
}

func (s *sqlite) define(ctx context.Context, work func(querier) error) error { return s.own(ctx, work) }

// check takes the file's write lock. A transaction that was begun IMMEDIATE already has it.
func (s *sqlite) check(ctx context.Context, q querier, c claim) error {
	err := s.whenFree(ctx, q, func() error { return q.exec(ctx, s.sql["lock"]) })
	for _, r := range c.resources {
		var now mark
		if err == nil {
			_, err = s.raiseLazily(ctx, q, c, r)
		}
		if err == nil {
			now, err = s.read(ctx, q, c, r)
		}
		if err == nil && !now.isOf(c) {
			return c.refuse(r, now)
		}
	}
	return s.classify(ctx, q, err)
}

// whenFree calls the given function, which works in a transaction of the caller. While the file is busy, whenFree calls
// the function again, until the time checkWait is over.
func (s *sqlite) whenFree(ctx context.Context, q querier, once func() error) error {
	restore, err := withBusySlice(ctx, s.db, q)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	err = untilFree(limited, once)
	if failed := restore(); err == nil {
		err = failed
	}
	return err
}

// begun reports an error if no transaction is open. It tries BEGIN, which fails inside a transaction.
func (s *sqlite) begun(ctx context.Context, q querier) error {
	if q.exec(ctx, s.sql["begin"]) != nil {
		return nil
	}
	return oneline.Join(errNoTransaction, q.exec(context.WithoutCancel(ctx), s.sql["rollback"]))
}

func (s *sqlite) note(ctx context.Context, q querier, at slot) error {
	return s.classify(ctx, q, q.exec(ctx, s.sql["note"], at.id, at.operation))
}

func (s *sqlite) outcome(ctx context.Context, id string) (operation int64, err error) {
	_, err = (sqlQuerier{conn: s.db}).row(ctx, s.sql["outcome"], []any{id}, &operation)
	return operation, err
}

func (s *sqlite) pruneOutcomes(ctx context.Context, unused time.Duration) (int, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close() //nolint:errcheck // returns the connection to the pool
	result, err := conn.ExecContext(ctx, s.sql["prune_outcomes"], unused.Microseconds())
	if err != nil {
		return 0, s.classify(ctx, sqlQuerier{conn: conn}, err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}

func (s *sqlite) refused(err error) bool { return sqlerror.SQLite(err) != 0 }

func (s *sqlite) explain(err error) error { return err }

func (s *sqlite) again(err error) bool { return sqlitefile.Busy(err) }

func (s *sqlite) classify(ctx context.Context, q querier, err error) error {
	switch {
	case err == nil:
		return nil
	case s.again(err):
		return retry(err)
	case sqlerror.SQLite(err)&0xff == sqlitefile.CodeError && s.outdated(ctx, q):
		return &SchemaError{Table: s.table.String(), Err: err}
	default:
		return err
	}
}

// outdated reports whether a table or a column is missing. In that case a statement returns only the generic
// SQLITE_ERROR.
func (s *sqlite) outdated(ctx context.Context, q querier) bool {
	for table, known := range map[string]int{s.table.Fence(): 7, s.table.Outcome(): 3} {
		columns := known
		_, err := q.row(ctx, s.sql["columns"], []any{table, s.table.Schema()}, &columns)
		if err == nil && columns < known {
			return true
		}
	}
	return false
}

// untilFree calls the given function, and calls it again while the file is busy, until ctx ends. It does not repeat the
// call if the snapshot of the transaction is out of date, because waiting does not fix that.
func untilFree(ctx context.Context, once func() error) error {
	var busy error
	for step := firstPause; ; step = min(2*step, longPause) {
		err := once()
		if busy != nil && ctx.Err() != nil && err != nil {
			return busy // this error says more than the last one, which only says that the attempt was interrupted
		}
		busy = err
		if !sqlitefile.Busy(err) || sqlerror.SQLite(err) == sqlitefile.CodeBusySnapshot || !backoff.Sleep(ctx, backoff.Jitter(step)) {
			return err
		}
	}
}

// withBusySlice sets a short busy timeout on q's connection, and returns a function that restores the old one.
// If q is in a transaction of the caller, pool is the pool of q's connection. Otherwise pool is nil.
func withBusySlice(ctx context.Context, pool *sql.DB, q querier) (restore func() error, err error) {
	return sqlitefile.WithBusySlice(ctx, pool, func(ctx context.Context, statement string, ms *int) error {
		_, err := q.row(ctx, statement, nil, ms)
		return err
	})
}
