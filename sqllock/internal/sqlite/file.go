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

// file runs statements on the database file. It retries them while the file is busy.
type file struct {
	db       *sql.DB
	table    sqltable.Table
	sql      map[string]string // the statements, keyed by file name without .sql
	prepared *prepared
	turn     chan struct{} // contains a value while a writer of this process has the turn (see takeTurn)

	walUntil atomic.Int64             // until when f assumes a write-ahead log, in nanoseconds since the time in the variable started
	opened   atomic.Pointer[identity] // nil before the first call
}

func newFile(db *sql.DB, t sqltable.Table) *file {
	f := &file{db: db, table: t, sql: t.Statements(files, "sql", `"`), turn: make(chan struct{}, 1)}
	f.prepared = prepare(f, "look", "acquire", "release", "look_shared", "acquire_shared", "release_shared", "wait", "leave", "turn")
	return f
}

// writing contains the options of the method write.
type writing struct {
	limit      time.Duration // how long write waits for another writer of the file
	durability durability
	statements statements
}

// durability says whether a commit waits until the write is flushed to the disk.
type durability int

const (
	flushed   durability = iota // a commit flushes if PRAGMA synchronous of the connection says so
	unflushed                   // with a write-ahead log, a commit does not flush, and may be lost when the machine crashes
)

// statements says whether a write has more than one statement.
type statements int

const (
	single  statements = iota
	several            // the statements run in one transaction: all of them take effect, or none
)

// write runs the function work on a connection. With a write-ahead log the statements are prepared, and run in a
// transaction. The statements must run on the connection whose busy timeout was shortened. database/sql lets the caller
// choose the connection of a prepared statement only in a transaction.
func (f *file) write(ctx context.Context, how writing, work func(sqlbase.Querier) error) error {
	wal := f.wal()
	if wal {
		if err := f.prepared.ready(ctx); err != nil {
			return err
		}
	}
	defer f.takeTurn(ctx)()
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

// turnWait is how long a writer waits for the other writers of its process. It is longer than a few commits, and shorter
// than the time for which an acquire waits for the writers of other processes.
const turnWait = 20 * time.Millisecond

// takeTurn waits until no other writer of this process has the turn, for at most turnWait. It returns a function that
// ends the turn. SQLite has no queue of writers: a writer that finds the file busy sleeps for milliseconds, although a
// commit of another writer takes much less time. A turn promises nothing, so a writer that did not get the turn goes on.
func (f *file) takeTurn(ctx context.Context) (end func()) {
	select {
	case f.turn <- struct{}{}:
		return func() { <-f.turn }
	default:
	}
	timer := time.NewTimer(turnWait)
	defer timer.Stop()
	select {
	case f.turn <- struct{}{}:
		return func() { <-f.turn }
	case <-timer.C:
	case <-ctx.Done():
	}
	return func() {}
}

// transact runs the function work in a transaction with prepared statements. The first statement takes the file's write
// lock. The end of ctx does not interrupt the transaction: the transaction is short, and interrupting it would close
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

// immediately runs the function work in a transaction that takes the file's write lock when it begins. If it is
// uncertain whether the transaction has ended, the function closes the connection.
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

// read runs the function work, which only reads. With a write-ahead log, readers wait for no writer, and need no busy
// timeout.
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

// exec runs a statement of an acquire that returns no rows.
func (f *file) exec(ctx context.Context, verb string, args ...any) error {
	return f.within(ctx, writerWait, func(conn *sql.Conn) error {
		_, err := sqlbase.On(conn).Exec(ctx, f.sql[verb], args...)
		return err
	})
}

// call runs the function work on a connection. It retries until ctx's deadline is near.
func (f *file) call(ctx context.Context, work func(sqlbase.Querier) error) error {
	return f.within(ctx, sqlbase.LongRetry, func(conn *sql.Conn) error { return work(sqlbase.On(conn)) })
}

func (f *file) within(ctx context.Context, limit time.Duration, work func(*sql.Conn) error) error {
	return sqlbase.RetryWithin(ctx, limit, sqlitefile.Busy, func() error { return f.once(ctx, work) })
}

// once runs the function work on a connection with a short busy timeout. It does not retry.
func (f *file) once(ctx context.Context, work func(*sql.Conn) error) (err error) {
	conn, err := f.db.Conn(ctx)
	if err != nil {
		return driver.NotApplied(err)
	}
	defer conn.Close() //nolint:errcheck // returns the connection to the pool; the error has no consequence
	q := sqlbase.On(conn)
	restore, err := withBusySlice(ctx, nil, q)
	if err != nil {
		return driver.NotApplied(err)
	}
	defer func() { err = oneline.Join(err, restore()) }()
	f.readJournalMode(ctx, q)
	return work(conn)
}

// withBusySlice sets a short busy timeout on q's connection. It returns a function that restores the previous
// timeout. If q is a transaction of the caller, pool is the pool of that transaction, else nil.
func withBusySlice(ctx context.Context, pool *sql.DB, q sqlbase.Querier) (restore func() error, err error) {
	return sqlitefile.WithBusySlice(ctx, pool, func(ctx context.Context, statement string, ms *int) error {
		_, err := sqlbase.QueryOne(ctx, q, statement, nil, ms)
		return err
	})
}

// walTrusted is how long f relies on a journal mode that it has read. The mode can change only while no other
// connection has the file open.
const walTrusted = time.Minute

var started = time.Now()

// wal reports whether f has read in the last minute that the file has a write-ahead log.
func (f *file) wal() bool { return int64(time.Since(started)) < f.walUntil.Load() }

// readJournalMode reads whether the file has a write-ahead log, unless wal reports true already. It ignores errors.
func (f *file) readJournalMode(ctx context.Context, q sqlbase.Querier) {
	if f.wal() {
		return
	}
	var mode string
	if _, err := sqlbase.QueryOne(context.WithoutCancel(ctx), q, f.pragma("journal_mode"), nil, &mode); err == nil && mode == "wal" {
		f.walUntil.Store(int64(time.Since(started) + walTrusted))
	}
}

// pragma returns a PRAGMA statement for the attached database that contains the table.
func (f *file) pragma(what string) string {
	if f.table.Schema() == "" {
		return "PRAGMA main." + what
	}
	return `PRAGMA "` + f.table.Schema() + `".` + what
}

// synchronous lists the values of PRAGMA synchronous with which each commit to a write-ahead log is flushed, with
// their names: https://www.sqlite.org/pragma.html#pragma_synchronous
var synchronous = map[int]string{2: "FULL", 3: "EXTRA"}

// relax sets PRAGMA synchronous so that commits on conn do not wait for the disk. With a write-ahead log, a crash of
// the machine can then lose only the last commits. relax returns a function that restores the setting.
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
			sqlbase.Discard(conn) // otherwise the caller's connection would stay less durable than configured
		}
	}, nil
}

// errReplaced is the cause in the error for a database file that was replaced.
var errReplaced = errors.New("was replaced by another file while it was open: programs that open the new file do not see these locks; restart this program, and stop all programs before you replace the file")

// identity identifies the database file that the first call found. SQLite continues to use the file that it has
// opened, even if another file has the same path later.
type identity struct {
	path string
	info os.FileInfo // nil for a database in memory
}

// identity returns the identity of the file, which the first call reads. The first call may have to open a connection
// and read the schema, so it waits for another writer for at most limit.
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

// unreplaced returns an error that wraps errReplaced if another file now has the path of the database. If no file has
// that path, it returns an error marked [driver.NotApplied].
func (f *file) unreplaced(ctx context.Context, limit time.Duration) error {
	first, err := f.identity(ctx, limit)
	if err != nil || first.info == nil {
		return err
	}
	now, err := os.Stat(first.path)
	switch {
	case err != nil:
		return driver.NotApplied(err) // the file may exist again soon
	case !os.SameFile(first.info, now):
		return driver.Permanent(fmt.Errorf("the database file %s %w", first.path, errReplaced))
	}
	return nil
}
