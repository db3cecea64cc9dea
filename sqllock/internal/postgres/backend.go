// Package postgres stores locks as lease rows in PostgreSQL.
package postgres

import (
	"context"
	"database/sql"
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
	p.waiters.listener.pg, p.waiters.listener.open, p.waiters.listener.times = p, h.open, usualTimes
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
	row, write := p.waiters.join(key, w)
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
		if err = p.write(ctx, row, channel); err != nil {
			p.waiters.leave(row, w)
			return nil, p.classify(ctx, "wait for", key, err)
		}
		channel, same = p.waiters.wrote(row, channel)
	}
	return stop, nil
}

// write writes the row r to the table of waiters. It first waits for a concurrent write of r to end.
func (p *Backend) write(ctx context.Context, r *row, channel string) error {
	select {
	case r.writing <- struct{}{}:
	case <-ctx.Done():
		return driver.NotApplied(ctx.Err())
	}
	defer func() { <-r.writing }()
	return p.exec(ctx, "wait", encodeRows([]*row{r}), channel, sqlbase.Flag(channel != ""))
}

// forgetWriter ends the reservation of the writer with g's nonce, which has given up.
func (p *Backend) forgetWriter(ctx context.Context, g driver.Grant) error {
	if !p.reserved.Load() {
		return nil
	}
	return p.releases.exec(ctx, "forget_writer", g.Key.Namespace, g.Key.Name, g.Nonce.String())
}

// withdraw removes the request with g's nonce from the waiter's row, so that no release can grant it. The result
// withdrawn reports that the request was recorded and not granted. In that case there is nothing to release, and the
// error is [driver.ErrNotHeld].
func (p *Backend) withdraw(ctx context.Context, g driver.Grant) (withdrawn bool, err error) {
	if !p.waiters.used() {
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

// SetIdle sets how long unused connections stay open. Only tests call this method, before they use p.
func (p *Backend) SetIdle(d time.Duration) {
	p.waiters.listener.times.idle = d
	p.reserve.SetIdle(d)
}

// SetTick sets how often the rows of waiters are written and deleted. Only tests call this method, before they use p.
func (p *Backend) SetTick(d time.Duration) { p.waiters.listener.times.tick = d }

// SetHello sets the longest wait for the notification that the listener sends to itself. Only tests call this method,
// before they use p.
func (p *Backend) SetHello(d time.Duration) { p.waiters.listener.times.hello = d }

// Listens reports whether the listener runs or keeps a connection, and whether this backend has rows in the table of
// waiters.
func (p *Backend) Listens() (listens, rows bool) {
	_, rows = p.waiters.count()
	return p.waiters.listener.runs(), rows
}
