// Package sqlite stores locks as lease rows in a SQLite file.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlitefile"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// writerWait is how long an acquire waits for another writer of the file before it returns the reason Contended. A
// file has one writer at a time.
const writerWait = 250 * time.Millisecond

// Backend keeps locks in a file of SQLite 3.35 or newer. It implements [driver.Backend], [driver.HandOverer], [driver.Notifier] and, in
// operator.go, [driver.Operator].
type Backend struct {
	file     *file
	waiters  *waiters
	reserved atomic.Bool // true if a request of this process has reserved a lock for a writer
}

// New returns a backend that keeps locks in table t of the file that db opens. It reads nothing.
func New(db *sql.DB, t sqltable.Table) *Backend {
	f := newFile(db, t)
	return &Backend{file: f, waiters: newWaiters(f)}
}

// Capabilities returns the guarantees of lease rows in SQLite.
func (b *Backend) Capabilities() driver.Capabilities {
	return driver.Capabilities{
		Backend: "sqllock/sqlite", Token: driver.LinearizableToken, Wakes: watchable, Shares: true, Pauses: true, Ticks: true,
		Warnings: b.waiters.warnings(),
	}
}

// Acquire makes one attempt. If the database file was replaced by another file, it returns a permanent error.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	var w *waiter
	if r.Waiting {
		w = b.waiters.of(r.Key)
	}
	var a sqlbase.Answer
	err := b.file.unreplaced(ctx, writerWait)
	if err == nil {
		a, err = sqlbase.Settle(ctx,
			func() (sqlbase.Answer, error) { return b.ask(ctx, r, w) },
			map[sqlbase.Verdict]func() error{
				sqlbase.OtherEpoch: func() error { return b.file.exec(ctx, "adopt_epoch") },
				sqlbase.LongerTTL:  func() error { return b.file.exec(ctx, "raise_longest_ttl", sqlbase.ClosedFor(r)) },
			})
	}
	if sqlitefile.Busy(err) && ctx.Err() == nil {
		a.Verdict = sqlbase.Contended
		return driver.Grant{}, a.Held()
	}
	if err != nil {
		return driver.Grant{}, b.classify(ctx, "acquire", r.Key, err)
	}
	if a.Verdict != sqlbase.Granted {
		b.waiters.refused(ctx, r.Key, w)
		if a.Readers > 0 && r.Waits && !r.Shared {
			b.reserveForWriter(ctx, r, w)
		}
		return driver.Grant{}, a.Held()
	}
	return sqlbase.GrantOf(r, a), nil
}

// ask reads the state of the lock, and writes a grant only if the lock looks free.
func (b *Backend) ask(ctx context.Context, r driver.Request, w *waiter) (sqlbase.Answer, error) {
	a, err := b.look(ctx, r, w)
	if err != nil || a.Verdict != sqlbase.Contended {
		return a, err
	}
	how := writing{limit: writerWait}
	if r.Seal != "" || w.hasRow() {
		how.statements = several
	}
	next := ""
	err = b.file.write(ctx, how, func(q sqlbase.Querier) (err error) {
		if r.Shared {
			next, err = b.grantShare(ctx, q, r, w, &a)
		} else {
			err = b.grant(ctx, q, r, w, &a)
		}
		if err != nil || a.Verdict != sqlbase.Granted {
			return err
		}
		if err := b.waiters.deleteRow(ctx, q, r.Key, w); err != nil || r.Seal == "" {
			return err
		}
		return b.seal(ctx, q, r, &a)
	})
	if err == nil && a.Verdict == sqlbase.Granted {
		w.rowDeleted()
		wakeLocal(next)
	}
	return a, err
}

func (b *Backend) look(ctx context.Context, r driver.Request, w *waiter) (a sqlbase.Answer, err error) {
	err = b.file.read(ctx, writerWait, func(q sqlbase.Querier) error {
		a, err = b.lookOn(ctx, q, r, w)
		return err
	})
	return a, err
}

func (b *Backend) lookOn(ctx context.Context, q sqlbase.Querier, r driver.Request, w *waiter) (a sqlbase.Answer, err error) {
	verb := "look"
	if r.Shared {
		verb = "look_shared"
	}
	args := []any{r.Key.Namespace, r.Key.Name, r.Nonce.String(), sqlbase.ClosedFor(r), w.param()}
	found, err := sqlbase.QueryOne(ctx, q, b.file.sql[verb], args, append(a.Dest(), &a.Ahead, &a.Readers)...)
	if err == nil && !found {
		err = sqlbase.MetaMissing(b.file.table)
	}
	return a, err
}

// grant writes the grant, unless another process has acquired the lock first. It stores the verdict in a.
func (b *Backend) grant(ctx context.Context, q sqlbase.Querier, r driver.Request, w *waiter, a *sqlbase.Answer) error {
	granted, err := sqlbase.QueryOne(ctx, q, b.file.sql["acquire"], []any{
		r.Key.Namespace, r.Key.Name, r.Nonce.String(), r.Holder, r.Note,
		r.TTL.Microseconds(), r.MinHold.Microseconds(), r.HandoverDelay.Microseconds(), w.param(),
	}, &a.Token, &a.Done)
	a.Verdict = sqlbase.Contended
	if granted {
		a.Verdict = sqlbase.Granted
	}
	return err
}

// seal raises the fence mark in the transaction of the grant. That transaction holds the file's write lock, so no
// other transaction that has checked the mark is still open.
func (b *Backend) seal(ctx context.Context, q sqlbase.Querier, r driver.Request, a *sqlbase.Answer) (err error) {
	a.Sealed, err = sqlbase.QueryOne(ctx, q, b.file.sql["seal"],
		[]any{r.Key.Namespace, r.Key.Name, a.Token, r.Nonce.String(), r.Seal}, new(int64))
	if sqlerror.SQLite(err)&0xff == sqlitefile.CodeError {
		return nil // the table of the fence marks is missing or outdated, which the guard reports
	}
	return err
}

// Renew renews the exclusive grants with one statement, and the shares of each epoch with one statement. If the database file was replaced by another file, every grant is lost.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if len(grants) == 0 {
		return nil, nil
	}
	switch err := b.file.unreplaced(ctx, sqlbase.LongRetry); {
	case errors.Is(err, errReplaced):
		result := make([]driver.Outcome, len(grants))
		for i := range result {
			result[i] = driver.Lost
		}
		return result, nil
	case err != nil:
		return nil, b.classify(ctx, "renew", grants[0].Key, err)
	}
	return sqlbase.RenewEach(ctx, grants, b.renewExclusive, b.renewShares)
}

// renewExclusive renews exclusive grants with one statement.
func (b *Backend) renewExclusive(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	result := make([]driver.Outcome, len(grants))
	batch := sqlbase.EncodeGrants(grants)
	renewed := map[grantID]bool{}
	err := b.file.call(ctx, func(q sqlbase.Querier) error {
		clear(renewed) // discards the result of an earlier attempt, which was undone
		return q.Query(ctx, b.file.sql["renew"], []any{batch}, func(r sqlbase.Rows) error {
			for r.Next() {
				var g grantID
				if err := r.Scan(&g.key.Namespace, &g.key.Name, &g.nonce, &g.token); err != nil {
					return err
				}
				renewed[g] = true
			}
			return nil
		})
	})
	if err != nil {
		return nil, b.classify(ctx, sqlbase.RenewalOf(grants), driver.Key{}, err)
	}
	for i, g := range grants {
		result[i] = driver.Lost
		if renewed[grantID{g.Key, g.Nonce.String(), g.Token}] {
			result[i] = driver.Renewed
		}
	}
	return result, nil
}

// grantID identifies a grant.
type grantID struct {
	key   driver.Key
	nonce string
	token driver.Token
}

// Release does not wait for the disk if the file has a write-ahead log. A release that is lost when the machine
// crashes delays the next grant by at most one TTL. The next grant flushes all earlier writes. A release that records a
// tick waits for the disk, because the tick must not be lost.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	d, verb, args := unflushed, "release", releaseArgs(g)
	grant := args[:4:4]
	if g.Done != "" {
		d = flushed
	}
	switch {
	case g.Shared:
		verb, args = "release_shared", grant
	case g.Token == 0 && b.reserved.Load():
		if err := b.forgetWriter(ctx, g); err != nil {
			return b.classify(ctx, "release", g.Key, err)
		}
	}
	err := b.end(ctx, d, verb, args, func(q sqlbase.Querier, a *sqlbase.Answer) error {
		_, err := sqlbase.QueryOne(ctx, q, b.file.sql["released_before"], grant, &a.Verdict)
		return err
	})
	return b.classify(ctx, "release", g.Key, err)
}

// releaseArgs returns the parameters of release.sql. The first four identify the grant.
func releaseArgs(g driver.Grant) []any {
	return []any{g.Key.Namespace, g.Key.Name, g.Nonce.String(), int64(g.Token), g.MinHold.Microseconds(), sqlbase.Tick(g)}
}

// end runs a statement that ends a grant. If the statement reserves the lock for a waiter in this process, the method
// wakes that waiter. If the statement changes no row, the function why reads the reason.
func (b *Backend) end(ctx context.Context, d durability, verb string, args []any, why func(sqlbase.Querier, *sqlbase.Answer) error) error {
	return sqlbase.Ended(ctx, func(a *sqlbase.Answer) error {
		reservedFor, ended, err := b.update(ctx, d, verb, args)
		if err != nil {
			return err
		}
		if !ended {
			return b.file.call(ctx, func(q sqlbase.Querier) error { return why(q, a) })
		}
		a.Verdict = sqlbase.Released
		wakeLocal(reservedFor)
		return nil
	})
}

// update runs a statement that changes one grant. The result reservedFor is the id of the waiter that the lock is then
// reserved for, or empty.
func (b *Backend) update(ctx context.Context, d durability, verb string, args []any) (reservedFor string, changed bool, err error) {
	var waiter sql.NullString
	err = b.file.write(ctx, writing{limit: sqlbase.LongRetry, durability: d}, func(q sqlbase.Querier) (err error) {
		changed, err = sqlbase.QueryOne(ctx, q, b.file.sql[verb], args, &waiter)
		return err
	})
	return waiter.String, changed, err
}

// HandOver writes without reading the lock's state first. A read would save nothing, because a process that ends its
// grant has to write in any case.
func (b *Backend) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	g, err := sqlbase.HandOver(ctx, r, func() (a sqlbase.Answer, err error) {
		err = b.file.within(ctx, writerWait, func(conn *sql.Conn) error { return b.handOver(ctx, sqlbase.On(conn), from, r, &a) })
		return a, err
	})
	if sqlitefile.Busy(err) && ctx.Err() == nil {
		return g, &driver.Held{Reason: driver.Contended}
	}
	return g, b.classify(ctx, "hand over", r.Key, err)
}

func (b *Backend) handOver(ctx context.Context, q sqlbase.Querier, from driver.Grant, r driver.Request, a *sqlbase.Answer) error {
	granted, err := sqlbase.QueryOne(ctx, q, b.file.sql["hand_over"], sqlbase.HandOverArgs(from, r), &a.Token)
	if err != nil {
		return err
	}
	if granted {
		a.Verdict = sqlbase.Granted
		return nil
	}
	found, err := sqlbase.QueryOne(ctx, q, b.file.sql["hand_over_refused"], []any{
		from.Key.Namespace, from.Key.Name, from.Nonce.String(), int64(from.Token), from.MinHold.Microseconds(),
		r.Nonce.String(), sqlbase.ClosedFor(r),
	}, a.Dest()...)
	if err == nil && !found {
		err = sqlbase.MetaMissing(b.file.table)
	}
	return err
}

// Notify writes a row for the waiter, so that a release reserves the lock for the waiter. While the backend has a
// waiter, it watches the file.
func (b *Backend) Notify(ctx context.Context, key driver.Key, wake func()) (stop func(), err error) {
	stop, err = b.waiters.join(ctx, key, wake)
	return stop, b.classify(ctx, "wait for", key, err)
}
