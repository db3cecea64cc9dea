// Package sqlite keeps locks as lease rows in a file of SQLite.
package sqlite

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlitefile"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// writerWait is how long an acquire waits for another writer of the file before it answers that the
// lock is contended. A file has one writer at a time, whatever it writes.
const writerWait = 250 * time.Millisecond

// Backend is the dialect of SQLite 3.35 and newer.
type Backend struct {
	db       *sql.DB
	table    sqltable.Table
	sql      map[string]string
	prepared *prepared
	mode     journalMode
	waiters  waiters
	opened   atomic.Pointer[openFile] // nil before the first call
}

func New(db *sql.DB, t sqltable.Table) *Backend {
	s := &Backend{db: db, table: t, sql: t.Statements(files, "sql", `"`)}
	s.prepared = prepare(s, db, s.sql, "look", "acquire", "release", "register", "unregister", "turn")
	return s
}

// Capabilities says what lease rows in SQLite promise.
func (s *Backend) Capabilities() driver.Capabilities {
	return driver.Capabilities{
		Backend: "sqllock/sqlite", Token: driver.LinearizableToken, Wakes: watchable, Pauses: true,
		Warnings: s.waiters.warnings(),
	}
}

func (s *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	closedFor := max(r.TTL+r.HandoverDelay, r.MinHold)
	var w *waiter
	if r.Waiting {
		w = s.waiters.of(r.Key)
	}
	var a sqlbase.Answer
	err := s.same(ctx, writerWait)
	if err == nil {
		a, err = sqlbase.Settle(ctx,
			func() (sqlbase.Answer, error) { return s.ask(ctx, r, closedFor, w) },
			map[sqlbase.Verdict]func() error{
				sqlbase.OtherEpoch: func() error { return s.Exec(ctx, "adopt_epoch") },
				sqlbase.LongerTTL:  func() error { return s.Exec(ctx, "raise_longest_ttl", closedFor.Microseconds()) },
			})
	}
	if sqlitefile.Busy(err) && ctx.Err() == nil {
		a.Verdict = sqlbase.Contended
		return driver.Grant{}, a.Held()
	}
	if err != nil {
		return driver.Grant{}, s.classify(ctx, "acquire", r.Key, err)
	}
	if a.Verdict != sqlbase.Granted {
		s.seen(ctx, r.Key, w)
		return driver.Grant{}, a.Held()
	}
	return driver.Grant{
		Key: r.Key, Nonce: r.Nonce, Token: driver.Token(a.Token),
		TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay, Sealed: a.Sealed,
	}, nil
}

// ask makes one attempt: it reads, and writes only if the lock looks free.
func (s *Backend) ask(ctx context.Context, r driver.Request, closedFor time.Duration, w *waiter) (sqlbase.Answer, error) {
	a, err := s.look(ctx, r, closedFor, w)
	if err != nil || a.Verdict != sqlbase.Contended {
		return a, err
	}
	err = s.write(ctx, manner{limit: writerWait, together: r.Seal != "" || w.registered()}, func(q sqlbase.Querier) error {
		if err := s.grant(ctx, q, r, w, &a); err != nil || a.Verdict != sqlbase.Granted {
			return err
		}
		if err := s.unregister(ctx, q, r.Key, w); err != nil || r.Seal == "" {
			return err
		}
		return s.seal(ctx, q, r, &a)
	})
	if err == nil && a.Verdict == sqlbase.Granted {
		w.gone()
	}
	return a, err
}

func (s *Backend) look(ctx context.Context, r driver.Request, closedFor time.Duration, w *waiter) (a sqlbase.Answer, err error) {
	err = s.read(ctx, writerWait, func(q sqlbase.Querier) error {
		args := []any{r.Key.Namespace, r.Key.Name, r.Nonce.String(), closedFor.Microseconds(), w.param()}
		found, err := sqlbase.QueryOne(ctx, q, s.sql["look"], args, append(a.Dest(), &a.Ahead)...)
		if err == nil && !found {
			err = sqlbase.MetaMissing(s.table)
		}
		return err
	})
	return a, err
}

// grant writes, unless somebody came in between.
func (s *Backend) grant(ctx context.Context, q sqlbase.Querier, r driver.Request, w *waiter, a *sqlbase.Answer) error {
	granted, err := sqlbase.QueryOne(ctx, q, s.sql["acquire"], []any{
		r.Key.Namespace, r.Key.Name, r.Nonce.String(), r.Holder, r.Note,
		r.TTL.Microseconds(), r.MinHold.Microseconds(), r.HandoverDelay.Microseconds(), w.param(),
	}, &a.Token)
	a.Verdict = sqlbase.Contended
	if granted {
		a.Verdict = sqlbase.Granted
	}
	return err
}

// Release does not wait for the disk: a release that is lost when the machine crashes costs one TTL,
// and the next grant takes all that was written before it to the disk.
func (s *Backend) Release(ctx context.Context, g driver.Grant) error {
	grant := []any{g.Key.Namespace, g.Key.Name, g.Nonce.String(), int64(g.Token)}
	err := sqlbase.Ended(ctx, func(a *sqlbase.Answer) error {
		next, found, err := s.end(ctx, "release", append(grant, g.MinHold.Microseconds()), true)
		if err != nil {
			return err
		}
		if found {
			a.Verdict = sqlbase.Released
			wakeLocal(next)
			return nil
		}
		return s.call(ctx, func(q sqlbase.Querier) error {
			_, err = sqlbase.QueryOne(ctx, q, s.sql["released_before"], grant, &a.Verdict)
			return err
		})
	})
	return s.classify(ctx, "release", g.Key, err)
}

// end runs a statement that ends a grant, and returns for which waiter the lock is kept now.
func (s *Backend) end(ctx context.Context, verb string, args []any, relaxed bool) (next string, found bool, err error) {
	var reserved sql.NullString
	err = s.write(ctx, manner{limit: sqlbase.LongRetry, relaxed: relaxed}, func(q sqlbase.Querier) (err error) {
		found, err = sqlbase.QueryOne(ctx, q, s.sql[verb], args, &reserved)
		return err
	})
	return reserved.String, found, err
}
