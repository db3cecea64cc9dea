package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/internal/sqlitefile"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// file runs statements on the database file. While the file is busy it runs them again.
type file struct {
	db       *sql.DB
	table    sqltable.Table
	sql      map[string]string // the statements by verb
	prepared *prepared

	walUntil atomic.Int64             // the file has a write-ahead log, in nanoseconds since started
	opened   atomic.Pointer[identity] // nil before the first call
}

func newFile(db *sql.DB, t sqltable.Table) *file {
	f := &file{db: db, table: t, sql: t.Statements(files, "sql", `"`)}
	f.prepared = prepare(f, "look", "acquire", "release", "wait", "leave", "turn")
	return f
}

// writing is how something is written.
type writing struct {
	limit      time.Duration // of waiting for another writer
	durability durability
	statements statements
}

// durability is when a write is done.
type durability int

const (
	flushed   durability = iota // when it is as durable as the caller's connections make it
	unflushed                   // at once: with a write-ahead log it may be lost when the machine crashes
)

// statements is how many a write has.
type statements int

const (
	single  statements = iota
	several            // all of them take effect, or none
)

// write runs work on a connection. With a write-ahead log the
// statements are prepared. They are in a transaction then, because that is the only way by which database/sql
// runs what is prepared on the connection that was given the short busy time-out.
func (f *file) write(ctx context.Context, how writing, work func(sqlbase.Querier) error) error {
	wal := f.wal()
	if wal {
		if err := f.prepared.ready(ctx); err != nil {
			return err
		}
	}
	return f.within(ctx, how.limit, func(conn *sql.Conn) error {
		switch {
		case !wal && how.statements == several:
			return immediately(ctx, conn, work)
		case !wal:
			return work(sqlbase.On(conn))
		case how.durability == unflushed:
			restore, err := f.relax(ctx, conn)
			if err != nil {
				return driver.NotApplied(err)
			}
			defer restore()
		}
		return f.transact(ctx, conn, work)
	})
}

// transact runs work in a transaction whose statements are prepared. Its first statement takes the
// file's write lock. The end of ctx does not interrupt it: it is short, and interrupting it would cost
// the connection.
func (f *file) transact(ctx context.Context, conn *sql.Conn, work func(sqlbase.Querier) error) error {
	if err := ctx.Err(); err != nil {
		return driver.NotApplied(err)
	}
	ctx = context.WithoutCancel(ctx)
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := work(preparedQuerier{f.prepared, tx}); err != nil {
		if tx.Rollback() != nil {
			sqlbase.Discard(conn)
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		if !sqlitefile.Busy(err) {
			sqlbase.Discard(conn)
		}
		return err
	}
	return nil
}

// immediately runs work in a transaction that has the file's write lock from its beginning. It closes a
// connection that may still be in the transaction afterwards.
func immediately(ctx context.Context, conn *sql.Conn, work func(q sqlbase.Querier) error) error {
	q := sqlbase.On(conn)
	if _, err := q.Exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		if !sqlitefile.Busy(err) {
			sqlbase.Discard(conn)
		}
		return err
	}
	err := work(q)
	if err == nil {
		_, err = q.Exec(ctx, "COMMIT")
	}
	if err != nil {
		if _, undone := q.Exec(context.WithoutCancel(ctx), "ROLLBACK"); undone != nil {
			sqlbase.Discard(conn)
		}
	}
	return err
}

// read runs work, which reads. With a write-ahead log readers wait for no writer, and need no busy time-out.
func (f *file) read(ctx context.Context, limit time.Duration, work func(sqlbase.Querier) error) error {
	if !f.wal() {
		return f.within(ctx, limit, func(conn *sql.Conn) error { return work(sqlbase.On(conn)) })
	}
	if err := f.prepared.ready(ctx); err != nil {
		return err
	}
	err := sqlbase.RetryWithin(ctx, limit, sqlitefile.Busy, func() error { return work(preparedQuerier{f.prepared, nil}) })
	if err != nil && ctx.Err() != nil {
		return driver.NotApplied(err)
	}
	return err
}

// exec runs a statement that returns nothing, and that an acquire needs.
func (f *file) exec(ctx context.Context, verb string, args ...any) error {
	return f.within(ctx, writerWait, func(conn *sql.Conn) error {
		_, err := sqlbase.On(conn).Exec(ctx, f.sql[verb], args...)
		return err
	})
}

// call runs work on a connection, and retries until ctx's deadline is near.
func (f *file) call(ctx context.Context, work func(sqlbase.Querier) error) error {
	return f.within(ctx, sqlbase.LongRetry, func(conn *sql.Conn) error { return work(sqlbase.On(conn)) })
}

func (f *file) within(ctx context.Context, limit time.Duration, work func(*sql.Conn) error) error {
	return sqlbase.RetryWithin(ctx, limit, sqlitefile.Busy, func() error { return f.once(ctx, work) })
}

// once runs work on a connection that soon answers when the file is busy.
func (f *file) once(ctx context.Context, work func(*sql.Conn) error) (err error) {
	conn, err := f.db.Conn(ctx)
	if err != nil {
		return driver.NotApplied(err)
	}
	defer conn.Close() //nolint:errcheck // back to the pool, which reports no useful error
	q := sqlbase.On(conn)
	restore, err := withBusySlice(ctx, nil, q)
	if err != nil {
		return driver.NotApplied(err)
	}
	defer func() { err = oneline.Join(err, restore()) }()
	f.readJournalMode(ctx, q)
	return work(conn)
}

// withBusySlice gives q's connection a short busy time-out, and returns what restores its own. pool is nil unless q is a
// transaction of the caller's.
func withBusySlice(ctx context.Context, pool *sql.DB, q sqlbase.Querier) (restore func() error, err error) {
	return sqlitefile.WithBusySlice(ctx, pool, func(ctx context.Context, statement string, ms *int) error {
		_, err := sqlbase.QueryOne(ctx, q, statement, nil, ms)
		return err
	})
}

// walTrusted is how long f relies on an earlier look at the journal mode that found a write-ahead log. A file keeps its log until a process
// that is the only one to have the file open removes it.
const walTrusted = time.Minute

var started = time.Now()

// wal reports whether the file is known to have a write-ahead log.
func (f *file) wal() bool { return int64(time.Since(started)) < f.walUntil.Load() }

// readJournalMode finds out whether the file has a write-ahead log, unless that is known. After an error it is not.
func (f *file) readJournalMode(ctx context.Context, q sqlbase.Querier) {
	if f.wal() {
		return
	}
	var mode string
	if _, err := sqlbase.QueryOne(context.WithoutCancel(ctx), q, f.pragma("journal_mode"), nil, &mode); err == nil && mode == "wal" {
		f.walUntil.Store(int64(time.Since(started) + walTrusted))
	}
}

// pragma is a pragma of the database that the table is in.
func (f *file) pragma(what string) string {
	if f.table.Schema() == "" {
		return "PRAGMA main." + what
	}
	return `PRAGMA "` + f.table.Schema() + `".` + what
}

// synchronous has the names of the values of PRAGMA synchronous that flush each commit of a write-ahead log:
// https://www.sqlite.org/pragma.html#pragma_synchronous
var synchronous = map[int]string{2: "FULL", 3: "EXTRA"}

// relax lets conn commit without waiting for the disk. With a write-ahead log a crash can then lose the last commits and nothing else. It
// returns what restores the setting.
func (f *file) relax(ctx context.Context, conn *sql.Conn) (restore func(), err error) {
	ctx, q := context.WithoutCancel(ctx), sqlbase.On(conn)
	level := 0
	if _, err := sqlbase.QueryOne(ctx, q, f.pragma("synchronous"), nil, &level); err != nil {
		return nil, err
	}
	before, flushes := synchronous[level]
	if !flushes {
		return func() {}, nil
	}
	if _, err := q.Exec(ctx, f.pragma("synchronous = NORMAL")); err != nil {
		return nil, err
	}
	return func() {
		if _, err := q.Exec(ctx, f.pragma("synchronous = "+before)); err != nil {
			sqlbase.Discard(conn) // or else a connection of the caller's would stay less durable than configured
		}
	}, nil
}

// errReplaced is wrapped by the error of a file that was replaced.
var errReplaced = errors.New("was replaced by another file while it was open: its locks are not seen by programs that open it now; restart this program, and stop all of them before the file is replaced")

// identity is the database file as the first call found it. SQLite continues to use the file that it has opened, whatever its path
// leads to later.
type identity struct {
	path string
	info os.FileInfo // nil for a database in memory
}

// identity returns what the first call found. That call waits for another writer within limit: a new connection has to read the schema.
func (f *file) identity(ctx context.Context, limit time.Duration) (*identity, error) {
	if seen := f.opened.Load(); seen != nil {
		return seen, nil
	}
	seen := &identity{}
	err := f.within(ctx, limit, func(conn *sql.Conn) error {
		_, err := sqlbase.QueryOne(ctx, sqlbase.On(conn), f.sql["file"], []any{f.table.Schema()}, &seen.path)
		return err
	})
	if err == nil && seen.path != "" {
		if seen.info, err = os.Stat(seen.path); err != nil {
			err = driver.NotApplied(err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("find the database file: %w", err)
	}
	f.opened.CompareAndSwap(nil, seen)
	return seen, nil
}

// unreplaced returns an error that wraps errReplaced if the path of the database leads to another file than at first, and another error if
// it leads to none.
func (f *file) unreplaced(ctx context.Context, limit time.Duration) error {
	first, err := f.identity(ctx, limit)
	if err != nil || first.info == nil {
		return err
	}
	now, err := os.Stat(first.path)
	switch {
	case err != nil:
		return driver.NotApplied(err) // it may be back in a moment
	case !os.SameFile(first.info, now):
		return driver.Permanent(fmt.Errorf("the database file %s %w", first.path, errReplaced))
	}
	return nil
}
