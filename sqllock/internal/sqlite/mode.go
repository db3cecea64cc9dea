package sqlite

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// modeTrusted is how long a file is taken to have a write-ahead log once it was seen to have one. A
// file keeps it until somebody takes it away, for which he must be the only one who has the file open.
const modeTrusted = time.Minute

// journalMode is what is known of a file's journal.
type journalMode struct {
	until atomic.Int64 // there is a write-ahead log, in nanoseconds since started
}

var started = time.Now()

// wal reports whether the file is known to have a write-ahead log.
func (m *journalMode) wal() bool { return int64(time.Since(started)) < m.until.Load() }

// ask finds out, unless it is known. What cannot be asked is taken for a rollback journal.
func (m *journalMode) ask(ctx context.Context, q sqlbase.Querier, t sqltable.Table) {
	if m.wal() {
		return
	}
	var mode string
	if _, err := sqlbase.QueryOne(context.WithoutCancel(ctx), q, pragma(t, "journal_mode"), nil, &mode); err == nil && mode == "wal" {
		m.until.Store(int64(time.Since(started) + modeTrusted))
	}
}

// pragma is one of the database that the table is in.
func pragma(t sqltable.Table, what string) string {
	if t.Schema() == "" {
		return "PRAGMA main." + what
	}
	return `PRAGMA "` + t.Schema() + `".` + what
}

// Values of PRAGMA synchronous: https://www.sqlite.org/pragma.html#pragma_synchronous
const syncNormal = 1

// relax lets conn commit without waiting for the disk, which with a write-ahead log can lose what was
// written last and nothing else. It returns what undoes that.
func (s *Backend) relax(ctx context.Context, conn *sql.Conn) (restore func(), err error) {
	ctx, q := context.WithoutCancel(ctx), sqlbase.On(conn)
	level := 0
	if _, err := sqlbase.QueryOne(ctx, q, pragma(s.table, "synchronous"), nil, &level); err != nil {
		return nil, err
	}
	if level <= syncNormal {
		return func() {}, nil
	}
	if _, err := q.Exec(ctx, pragma(s.table, "synchronous = NORMAL")); err != nil {
		return nil, err
	}
	return func() {
		back := map[int]string{2: "synchronous = FULL", 3: "synchronous = EXTRA"}[level]
		if _, err := q.Exec(ctx, pragma(s.table, back)); err != nil {
			sqlbase.Discard(conn) // rather than a connection of the caller's that is less durable than he asked
		}
	}, nil
}
