package sqllock

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlitefile"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// writerWait is how long an acquire waits for another writer of the file before it answers that the
// lock is contended. A file has one writer at a time, whatever it writes.
const writerWait = 250 * time.Millisecond

// sqlite is the dialect of SQLite 3.35 and newer.
type sqlite struct {
	db       *sql.DB
	table    sqltable.Table
	sql      statements
	prepared *prepared
	mode     journalMode
	waiters  sqliteWaiters
	opened   atomic.Pointer[openFile] // nil before the first call
}

func newSQLite(db *sql.DB, t sqltable.Table) *sqlite {
	s := &sqlite{db: db, table: t, sql: load(t, "sqlite", `"`)}
	s.prepared = prepare(s, db, s.sql, "look", "acquire", "release", "register", "unregister", "turn")
	return s
}

// Capabilities says what lease rows in SQLite promise.
func (s *sqlite) Capabilities() driver.Capabilities {
	return driver.Capabilities{
		Backend: "sqllock/sqlite", Token: driver.LinearizableToken, Wakes: watchable, Pauses: true,
		Warnings: s.waiters.warnings(),
	}
}

func (s *sqlite) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	closedFor := max(r.TTL+r.HandoverDelay, r.MinHold)
	var w *sqliteWaiter
	if r.Waiting {
		w = s.waiters.of(r.Key)
	}
	var a answer
	err := s.same(ctx, writerWait)
	if err == nil {
		a, err = settle(ctx,
			func() (answer, error) { return s.ask(ctx, r, closedFor, w) },
			map[verdict]func() error{
				vEpoch: func() error { return s.exec(ctx, "adopt_epoch") },
				vTTL:   func() error { return s.exec(ctx, "raise_longest_ttl", closedFor.Microseconds()) },
			})
	}
	if sqlitefile.Busy(err) && ctx.Err() == nil {
		a.verdict = vContended
		return driver.Grant{}, a.held()
	}
	if err != nil {
		return driver.Grant{}, s.classify(ctx, "acquire", r.Key, err)
	}
	if a.verdict != vGranted {
		s.seen(ctx, r.Key, w)
		return driver.Grant{}, a.held()
	}
	return driver.Grant{
		Key: r.Key, Nonce: r.Nonce, Token: driver.Token(a.token),
		TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay, Sealed: a.sealed,
	}, nil
}

// ask makes one attempt: it reads, and writes only if the lock looks free.
func (s *sqlite) ask(ctx context.Context, r driver.Request, closedFor time.Duration, w *sqliteWaiter) (answer, error) {
	a, err := s.look(ctx, r, closedFor, w)
	if err != nil || a.verdict != vContended {
		return a, err
	}
	err = s.write(ctx, manner{limit: writerWait, together: r.Seal != "" || w.registered()}, func(q querier) error {
		if err := s.grant(ctx, q, r, w, &a); err != nil || a.verdict != vGranted {
			return err
		}
		if err := s.unregister(ctx, q, r.Key, w); err != nil || r.Seal == "" {
			return err
		}
		return s.seal(ctx, q, r, &a)
	})
	if err == nil && a.verdict == vGranted {
		w.gone()
	}
	return a, err
}

func (s *sqlite) look(ctx context.Context, r driver.Request, closedFor time.Duration, w *sqliteWaiter) (a answer, err error) {
	err = s.read(ctx, writerWait, func(q querier) error {
		args := []any{r.Key.Namespace, r.Key.Name, r.Nonce.String(), closedFor.Microseconds(), w.param()}
		found, err := queryOne(ctx, q, s.sql["look"], args, append(a.dest(), &a.ahead)...)
		if err == nil && !found {
			err = metaMissing(s.table)
		}
		return err
	})
	return a, err
}

// grant writes, unless somebody came in between.
func (s *sqlite) grant(ctx context.Context, q querier, r driver.Request, w *sqliteWaiter, a *answer) error {
	granted, err := queryOne(ctx, q, s.sql["acquire"], []any{
		r.Key.Namespace, r.Key.Name, r.Nonce.String(), r.Holder, r.Note,
		r.TTL.Microseconds(), r.MinHold.Microseconds(), r.HandoverDelay.Microseconds(), w.param(),
	}, &a.token)
	a.verdict = vContended
	if granted {
		a.verdict = vGranted
	}
	return err
}

// Release does not wait for the disk: a release that is lost when the machine crashes costs one TTL,
// and the next grant takes all that was written before it to the disk.
func (s *sqlite) Release(ctx context.Context, g driver.Grant) error {
	grant := []any{g.Key.Namespace, g.Key.Name, g.Nonce.String(), int64(g.Token)}
	err := ended(ctx, func(a *answer) error {
		next, found, err := s.end(ctx, "release", append(grant, g.MinHold.Microseconds()), true)
		if err != nil {
			return err
		}
		if found {
			a.verdict = vReleased
			wakeLocal(next)
			return nil
		}
		return s.call(ctx, func(q querier) error {
			_, err = queryOne(ctx, q, s.sql["released_before"], grant, &a.verdict)
			return err
		})
	})
	return s.classify(ctx, "release", g.Key, err)
}

// end runs a statement that ends a grant, and returns for which waiter the lock is kept now.
func (s *sqlite) end(ctx context.Context, verb string, args []any, relaxed bool) (next string, found bool, err error) {
	var reserved sql.NullString
	err = s.write(ctx, manner{limit: longRetry, relaxed: relaxed}, func(q querier) (err error) {
		found, err = queryOne(ctx, q, s.sql[verb], args, &reserved)
		return err
	})
	return reserved.String, found, err
}
