// Package postgres stores locks as lease rows in PostgreSQL.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlserver"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// Backend keeps locks in PostgreSQL 12 or newer.
type Backend struct {
	runner // runs statements through the application's pool

	renewals, releases runner // run statements through the reserve, an additional connection, while all connections of the pool are in use
	reserve            *sqlbase.Reserve
	table              sqltable.Table
	waiters            waiters
	reserved           atomic.Bool // true if a request of this process has reserved a lock for a writer
	warnings           []string    // the settings of the pool that weaken the promises of locks
}

func newBackend(h handle, t sqltable.Table) *Backend {
	p := &Backend{runner: runner{q: h.q, sql: t.Statements(files, "sql", `"`), unprepared: new(atomic.Bool)}, reserve: h.reserve, table: t, warnings: h.warnings}
	p.renewals, p.releases = p.runner, p.runner
	p.renewals.q = h.reserve.ForRenewals(h.q, h.usage)
	p.releases.q = h.reserve.ForReleases(h.q, h.usage)
	p.waiters.listener.pg, p.waiters.listener.open = p, h.open
	if !h.hears {
		p.waiters.listener.silence = mute
	}
	return p
}

// Capabilities returns the guarantees of lease rows in Postgres.
func (p *Backend) Capabilities() driver.Capabilities {
	silence := p.waiters.listener.silent()
	c := driver.Capabilities{Backend: "sqllock/postgres", Token: driver.LinearizableToken, Wakes: silence == notSilent, Shares: true, Pauses: true, Ticks: true}
	c.Warnings = slices.Clip(p.warnings)
	if silence == pooler {
		c.Warnings = append(c.Warnings, "waiters poll, because a pooler between this process and the server does not forward notifications: give the locks a separate pool that connects to the server directly")
	}
	return c
}

func (p *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if g, found, err := p.passed(ctx, r); found || err != nil {
		return g, p.classify(ctx, "acquire", r.Key, err)
	}
	var deposited *sqlbase.Answer // the answer to the last attempt that stored (deposited) r in the waiter's row
	a, err := sqlbase.Settle(ctx,
		func() (sqlbase.Answer, error) {
			a, err := p.ask(ctx, r)
			if err == nil && a.Pending {
				deposited = &a
			}
			return a, err
		},
		map[sqlbase.Verdict]func() error{
			sqlbase.OtherEpoch: func() error { return p.adopt(ctx) },
			sqlbase.LongerTTL:  func() error { return p.exec(ctx, "raise_longest_ttl", sqlbase.ClosedFor(r)) },
		})
	if err != nil {
		err = p.classify(ctx, "acquire", r.Key, withFields(r, p.named(ctx, err)))
		switch {
		case deposited == nil || !driver.IsNotApplied(err):
			return driver.Grant{}, err
		case driver.IsPermanent(err):
			return driver.Grant{}, p.withdrawAfter(ctx, r, err)
		}
		a = *deposited // the last attempt had no effect, but an earlier attempt has stored the request in the row
	}
	if a.Verdict != sqlbase.Granted {
		a.Pending = a.Pending || deposited != nil // the request of an earlier attempt remains in the row
		p.reserveForWriter(ctx, r, a)
		held := a.Held()
		held.Listed = p.waiters.listed(r, a)
		return driver.Grant{}, held
	}
	return sqlbase.GrantOf(r, a), nil
}

// withdrawAfter removes the request r from the waiter's row. After a success it returns the parameter why, an error
// that is marked [driver.NotApplied]. If the withdrawal fails, it returns an error without that mark, because r may
// still be granted.
func (p *Backend) withdrawAfter(ctx context.Context, r driver.Request, why error) error {
	err := p.Release(ctx, driver.Grant{Key: r.Key, Nonce: r.Nonce})
	if err == nil || errors.Is(err, driver.ErrNotHeld) {
		return why
	}
	return fmt.Errorf("%v; and the waiting request was not withdrawn: %v", why, err) //nolint:errorlint // wrapping would also copy the mark of one error to the whole
}

// ask makes one attempt, and a second one if no release can notify the waiter's row, after it has written that row.
func (p *Backend) ask(ctx context.Context, r driver.Request) (sqlbase.Answer, error) {
	a, unlisted, err := p.askOnce(ctx, r)
	if err != nil || unlisted == nil {
		return a, err
	}
	channel := p.waiters.listener.heardOn()
	if err := p.write(ctx, unlisted, channel, true); err != nil {
		return sqlbase.Answer{}, err
	}
	p.waiters.wrote(unlisted, channel)
	a, _, err = p.askOnce(ctx, r)
	return a, err
}

// askOnce makes one attempt. The result unlisted is the waiter's row if it must be written because no release can notify
// it, else nil. The statement may wait for an uncommitted insert of the same name and for the transactions of
// older holders, but only for a limited time.
func (p *Backend) askOnce(ctx context.Context, r driver.Request) (a sqlbase.Answer, unlisted *row, err error) {
	args := acquireArgs(r)
	verb, dest := "acquire", append(a.Dest(), &a.Done, &a.Readers)
	by, there := p.waiters.asks(r), false
	switch {
	case r.Shared:
		verb, args, dest = "acquire_shared", append(args[:6], by.id()), append(dest, &a.Ahead, &a.Missed)
	case r.Seal != "":
		verb, args, dest = "acquire_sealed", append(args, by.id(), r.Seal, drainLimit(ctx, r.TTL).Milliseconds()), append(dest, &a.Ahead, &a.Missed, &a.Sealed)
	case by.row != nil:
		verb, args, dest = "acquire_waiting", append(args, by.id(), by.mode(), p.waiters.listener.heardOn()), append(dest, &a.Ahead, &a.Missed, &there)
	}
	found, late := false, false
	err = p.run(ctx, args, func(args []any) (err error) {
		found, err = sqlbase.QueryOne(ctx, p.q, p.sql[verb], args, dest...)
		if late = sqlerror.State(err) == lockNotAvailable; late {
			a, found, err = sqlbase.Answer{Verdict: sqlbase.Contended}, true, nil
		}
		return err
	})
	switch {
	case r.Seal != "" && unsealable(err):
		r.Seal = ""
		return p.askOnce(ctx, r)
	case r.Seal != "" && (late || timedOut(ctx, err)):
		return p.draining(ctx, r.Key), nil, nil
	case err == nil && !found:
		err = sqlbase.MetaMissing(p.table)
	}
	if by.row == nil || err != nil {
		return a, nil, err
	}
	a.Pending = by.deposits && a.Verdict != sqlbase.Granted
	if p.waiters.answered(by.row, a, verb == "acquire_waiting", there) {
		unlisted = by.row
	}
	return a, unlisted, nil
}

// acquireArgs returns the parameters of acquire.sql. The first six are also those of acquire_shared.sql.
func acquireArgs(r driver.Request) []any {
	return []any{
		r.Key.Namespace, r.Key.Name, r.Nonce.String(), r.Holder, r.Note, r.TTL.Microseconds(),
		r.MinHold.Microseconds(), r.HandoverDelay.Microseconds(),
	}
}

// reserveForWriter makes later readers wait for the writer r, which was refused because of readers. After an error, the
// writer's next request tries it again. No promise of exclusion depends on it.
func (p *Backend) reserveForWriter(ctx context.Context, r driver.Request, a sqlbase.Answer) {
	if r.Shared || !r.Waits || a.Readers == 0 {
		return
	}
	p.reserved.Store(true)
	_ = p.exec(ctx, "reserve_for_writer", r.Key.Namespace, r.Key.Name, a.Token, driver.WriterReserve.Microseconds(), r.Nonce.String())
}

// forgetWriter ends the reservation of the writer with g's nonce, which has given up.
func (p *Backend) forgetWriter(ctx context.Context, g driver.Grant) error {
	if !p.reserved.Load() {
		return nil
	}
	return p.releases.exec(ctx, "forget_writer", g.Key.Namespace, g.Key.Name, g.Nonce.String())
}

func (p *Backend) Release(ctx context.Context, g driver.Grant) error {
	verb, args := "release", releaseArgs(g)
	grant := args[:4:4]
	if g.Token == 0 && !g.Shared { // the request for a share is never stored in a waiter's row, and reserves nothing
		if err := p.forgetWriter(ctx, g); err != nil {
			return p.classify(ctx, "release", g.Key, err)
		}
		if withdrawn, err := p.withdraw(ctx, g); withdrawn || err != nil {
			return p.classify(ctx, "release", g.Key, err)
		}
	}
	pass, crowded := p.waiters.released(g.Key)
	skipped := sql.NullString{String: pass, Valid: pass != ""}
	switch {
	case g.Shared:
		verb, args = "release_shared", append(grant, skipped)
	case crowded:
		verb, args = "release_passing", append(args, skipped)
	}
	err := sqlbase.Ended(ctx, func(a *sqlbase.Answer) error {
		found, err := p.releases.one(ctx, verb, args, &a.Verdict)
		if err == nil && !found {
			_, err = p.releases.one(ctx, "released_before", grant, &a.Verdict)
		}
		return err
	})
	return p.classify(ctx, "release", g.Key, err)
}

// releaseArgs returns the parameters of release.sql. The first four identify the grant.
func releaseArgs(g driver.Grant) []any {
	return []any{g.Key.Namespace, g.Key.Name, g.Nonce.String(), int64(g.Token), g.MinHold.Microseconds(), sqlbase.Tick(g)}
}

// HandOver replaces the grant in the parameter from with a grant to r in one round trip.
func (p *Backend) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	args := append(sqlbase.HandOverArgs(from, r), p.waiters.callable(r.Key))
	g, err := sqlbase.HandOver(ctx, r, func() (sqlbase.Answer, error) {
		var a sqlbase.Answer
		found, err := p.releases.one(ctx, "hand_over", args, a.Dest()...)
		if err == nil && !found {
			err = sqlbase.MetaMissing(p.table)
		}
		return a, err
	})
	if err == nil {
		p.waiters.granted(r.Key)
	}
	return g, p.classify(ctx, "hand over", r.Key, err)
}

// Renew takes one round trip, and up to two more if other statements have locked some of the rows. The shares of each
// lock take one round trip more.
func (p *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if len(grants) == 0 {
		return nil, nil
	}
	result, err := sqlbase.RenewEach(ctx, grants,
		func(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
			return sqlbase.RenewAll(ctx, grants, p.renew)
		},
		p.renewShares)
	if err != nil {
		return nil, p.classify(ctx, sqlbase.RenewalOf(grants), driver.Key{}, err)
	}
	return result, nil
}

// renew runs one statement for all grants.
func (p *Backend) renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	batch := sqlbase.EncodeGrants(grants)
	result := make([]driver.Outcome, len(grants))
	err := p.renewals.run(ctx, []any{batch}, func(args []any) error {
		return p.renewals.q.Query(ctx, p.sql["renew"], args, sqlbase.OutcomesInto(result))
	})
	return result, err
}

// renewShares runs one statement for the shares of one epoch.
func (p *Backend) renewShares(ctx context.Context, shares []driver.Grant) ([]driver.Outcome, error) {
	batch, err := sqlbase.EncodeShares(shares)
	if err != nil {
		return nil, driver.Permanent(err)
	}
	result := make([]driver.Outcome, len(shares))
	key := shares[0].Key
	err = p.renewals.run(ctx, []any{key.Namespace, key.Name, int64(shares[0].Token), batch}, func(args []any) error {
		return p.renewals.q.Query(ctx, p.sql["renew_shared"], args, sqlbase.SharedOutcomesInto(shares, result))
	})
	return result, err
}

// decision limits how long Notify waits to learn whether the process receives notifications.
const decision = 100 * time.Millisecond

// Notify implements [driver.Notifier]. A release reserves the lock briefly for the waiter that has waited longest,
// and notifies that waiter. It also notifies the second waiter, which sends a request after the reservation, unless
// it is notified again. When a lease expires, no waiter is notified. All waiters of a backend share one listening
// connection. If a pooler drops notifications, or the driver is not pgx, the waiter still gets a row in the table of
// waiters, and polls.
func (p *Backend) Notify(ctx context.Context, key driver.Key, wake func()) (stop func(), err error) {
	w := &waiter{wake}
	row, write, first := p.waiters.join(key, w)
	stop = func() { awaitGone(p.waiters.leave(row, w)) }
	timer := time.NewTimer(decision)
	defer timer.Stop()
	select {
	case <-p.waiters.listener.isDecided():
	case <-timer.C:
	case <-ctx.Done():
	}
	if !write {
		return stop, nil // the previous attempt has written the row
	}
	for channel, same := p.waiters.listener.heardOn(), false; !same; {
		if err = p.write(ctx, row, channel, first); err != nil {
			p.waiters.leave(row, w)
			return nil, p.classify(ctx, "wait for", key, err)
		}
		channel, same = p.waiters.wrote(row, channel)
	}
	return stop, nil
}

// write writes the row r to the table of waiters. It first waits for a concurrent write of r to end. If the parameter
// first is true, the waiting time of the row starts now.
func (p *Backend) write(ctx context.Context, r *row, channel string, first bool) error {
	select {
	case r.writing <- struct{}{}:
	case <-ctx.Done():
		return driver.NotApplied(ctx.Err())
	}
	defer func() { <-r.writing }()
	return p.exec(ctx, "wait", encodeRows([]*row{r}), channel, flags(channel, first))
}

// passed returns the grant if a release has granted the lock to the request r, which was deposited in the waiter's row.
// It reads the lock's row once for each notification that reports such a grant, because only the row proves the grant.
func (p *Backend) passed(ctx context.Context, r driver.Request) (g driver.Grant, found bool, err error) {
	if !r.Waiting || r.Shared || !p.waiters.promised(r.Key) {
		return g, false, nil
	}
	var a sqlbase.Answer
	found, err = p.one(ctx, "passed", []any{r.Key.Namespace, r.Key.Name, r.Nonce.String()}, &a.Token, &a.Done)
	if err != nil || !found {
		return g, false, err
	}
	p.waiters.granted(r.Key)
	g = sqlbase.GrantOf(r, a)
	g.Earlier = true
	return g, true, nil
}

// withdraw removes the request with g's nonce from the waiter's row, so that no release can grant it. The result
// withdrawn reports that the request was deposited and not granted. In that case there is nothing to release, and the
// error is [driver.ErrNotHeld].
func (p *Backend) withdraw(ctx context.Context, g driver.Grant) (withdrawn bool, err error) {
	if !p.waiters.anyDeposited() {
		return false, nil
	}
	var word string
	withdrawn, err = p.releases.one(ctx, "withdraw", []any{g.Key.Namespace, g.Key.Name, g.Nonce.String()}, &word)
	awaitGone(p.waiters.forsake(g.Key))
	if withdrawn && err == nil {
		err = driver.ErrNotHeld
	}
	return withdrawn, err
}

// drainLimit returns how long a sealed grant, which also raises the fence mark, may wait for the transactions of older
// holders. The limit is at most half of the TTL, and leaves a quarter of the time until ctx's deadline for another
// statement.
func drainLimit(ctx context.Context, ttl time.Duration) time.Duration {
	limit := min(ttl/2, sqlbase.LongRetry)
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)*3/4)
	}
	return max(limit, time.Millisecond)
}

// draining returns the reason why the statement of a sealed grant timed out and granted nothing. The statement waited
// for a transaction that has checked the fence mark, or for an insert of the same name. draining asks the server which
// of the two it was. If the server does not answer, draining assumes that the statement waited for such a transaction,
// because waits for an insert are short.
func (p *Backend) draining(ctx context.Context, key driver.Key) sqlbase.Answer {
	var a sqlbase.Answer
	if found, err := p.one(ctx, "draining", []any{key.Namespace, key.Name}, a.Dest()...); err != nil || !found {
		return sqlbase.Answer{Verdict: sqlbase.Draining}
	}
	return a
}

// timedOut reports whether the server canceled a statement because of a statement_timeout that the application has
// set, and not because ctx ended.
func timedOut(ctx context.Context, err error) bool {
	return sqlerror.State(err) == "57014" && ctx.Err() == nil
}

// unsealable reports whether the table of the fence marks is missing, outdated, or not accessible to the role. The
// lock is then acquired without sealing, and the guard reports the error later.
func unsealable(err error) bool {
	switch sqlerror.State(err) {
	case "42P01", "42703", "3F000", "42501":
		return true
	default:
		return false
	}
}

// adopt stores the server's identity in the meta row, so that this server can grant locks. This happens once for each
// start of a server and each table. adopt reads the version first, so that a server that only imitates PostgreSQL is
// never adopted and grants nothing.
func (p *Backend) adopt(ctx context.Context) error {
	if err := p.supported(ctx); err != nil {
		return err
	}
	return p.exec(ctx, "adopt_epoch")
}

// supported returns a permanent error if the server only imitates PostgreSQL.
func (p *Backend) supported(ctx context.Context) error {
	var version string
	if _, err := p.one(ctx, "version", nil, &version); err != nil {
		return driver.NotApplied(fmt.Errorf("read the server's version: %w", err))
	}
	if err := sqlserver.Supported(version); err != nil {
		return driver.Permanent(err)
	}
	return nil
}

// named returns the error of supported instead of err, if the server rejected a statement because it only imitates
// PostgreSQL.
func (p *Backend) named(ctx context.Context, err error) error {
	switch state := sqlerror.State(err); {
	case len(state) != 5 || state[:2] != "42" && state[:2] != "0A": // neither 42 (syntax error or access rule violation) nor 0A (feature not supported)
		return err
	}
	if unfit := p.supported(ctx); driver.IsPermanent(unfit) {
		return unfit
	}
	return err
}

// CloseIdle implements [driver.Idler]: it closes the listening connection and the reserve if they are unused.
func (p *Backend) CloseIdle(ctx context.Context) {
	waits, _ := p.waiters.count()
	p.waiters.listener.closeIdle(ctx, waits)
	p.reserve.CloseIdle(ctx)
}

// Listens reports whether the listener runs or keeps a connection, and whether this backend has rows in the table of
// waiters.
func (p *Backend) Listens() (listens, rows bool) {
	_, rows = p.waiters.count()
	return p.waiters.listener.runs(), rows
}
