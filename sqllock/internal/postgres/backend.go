// Package postgres keeps locks as lease rows in PostgreSQL.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// Backend is the dialect of PostgreSQL 12 and newer.
type Backend struct {
	runner // through the application's pool

	renewals, releases runner // through the reserve where the pool is full
	reserve            *sqlbase.Reserve
	table              sqltable.Table
	waiters            waiters
	warnings           []string // of the handle
}

func newBackend(h handle, t sqltable.Table) *Backend {
	p := &Backend{runner: runner{q: h.q, sql: t.Statements(files, "sql", `"`), unprepared: new(atomic.Bool)}, reserve: h.reserve, table: t, warnings: h.warnings}
	p.renewals, p.releases = p.runner, p.runner
	p.renewals.q = h.reserve.ForRenewals(h.q, h.usage)
	p.releases.q = h.reserve.ForReleases(h.q, h.usage)
	p.waiters.pg, p.waiters.open, p.waiters.unheard = p, h.open, !h.hears
	return p
}

// Capabilities says what lease rows in Postgres promise.
func (p *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "sqllock/postgres", Token: driver.LinearizableToken, Wakes: p.waiters.wakes(), Pauses: true}
	c.Warnings = slices.Clip(p.warnings)
	if p.waiters.behindPooler() {
		c.Warnings = append(c.Warnings, "waiters poll, because a pooler stands before the server, through which nobody can be notified: give the locks a pool of their own that reaches the server directly")
	}
	return c
}

func (p *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if g, found, err := p.passed(ctx, r); found || err != nil {
		return g, p.classify(ctx, "acquire", r.Key, err)
	}
	closedFor := max(r.TTL+r.HandoverDelay, r.MinHold)
	var left *sqlbase.Answer // by which the request was left with its row
	a, err := sqlbase.Settle(ctx,
		func() (sqlbase.Answer, error) {
			a, err := p.ask(ctx, r)
			if err == nil && a.Pending {
				left = &a
			}
			return a, err
		},
		map[sqlbase.Verdict]func() error{
			sqlbase.OtherEpoch: func() error { return p.adopt(ctx) },
			sqlbase.LongerTTL:  func() error { return p.Exec(ctx, "raise_longest_ttl", closedFor.Microseconds()) },
		})
	if err != nil {
		err = p.classify(ctx, "acquire", r.Key, withFields(r, p.named(ctx, err)))
		switch {
		case left == nil || !driver.IsNotApplied(err):
			return driver.Grant{}, err
		case driver.IsPermanent(err):
			return driver.Grant{}, p.takeBack(ctx, r, err)
		}
		a = *left // what came then had no effect, and this had one
	}
	if a.Verdict != sqlbase.Granted {
		return driver.Grant{}, a.Held()
	}
	g := grantOf(r, driver.Token(a.Token))
	g.Sealed = a.Sealed
	return g, nil
}

// takeBack undoes that r was left with its row, for why, which says that nothing had an effect. It does not say so if that
// fails.
func (p *Backend) takeBack(ctx context.Context, r driver.Request, why error) error {
	err := p.Release(ctx, driver.Grant{Key: r.Key, Nonce: r.Nonce})
	if err == nil || errors.Is(err, driver.ErrNotHeld) {
		return why
	}
	return fmt.Errorf("%v; and the request was not taken back: %v", why, err) //nolint:errorlint // what they are marked as is not true of both
}

func grantOf(r driver.Request, token driver.Token) driver.Grant {
	return driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: token, TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay}
}

// ask makes one attempt. Somebody's uncommitted insert of the same name, or an older holder's
// transaction, is waited for no longer than the statement says.
func (p *Backend) ask(ctx context.Context, r driver.Request) (sqlbase.Answer, error) {
	args := []any{
		r.Key.Namespace, r.Key.Name, r.Nonce.String(), r.Holder, r.Note,
		r.TTL.Microseconds(), r.MinHold.Microseconds(), r.HandoverDelay.Microseconds(),
	}
	var a sqlbase.Answer
	verb, dest := "acquire", a.Dest()
	waiter, leaves, mode := p.waiters.waiting(r)
	there := false
	switch {
	case r.Seal != "":
		verb, args, dest = "acquire_sealed", append(append(args, waiter), sealedArgs(ctx, r)...), append(dest, &a.Ahead, &a.Missed, &a.Sealed)
	case waiter != nil:
		verb, args, dest = "acquire_waiting", append(args, waiter, mode, p.waiters.heardOn()), append(dest, &a.Ahead, &a.Missed, &there)
	}
	found, late := false, false
	err := p.run(ctx, args, func(args []any) (err error) {
		found, err = sqlbase.QueryOne(ctx, p.q, p.sql[verb], args, dest...)
		if late = sqlerror.State(err) == lockNotAvailable; late {
			a, found, err = sqlbase.Answer{Verdict: sqlbase.Contended}, true, nil
		}
		return err
	})
	switch {
	case r.Seal != "" && unsealable(err):
		r.Seal = ""
		return p.ask(ctx, r)
	case r.Seal != "" && (late || timedOut(ctx, err)):
		return p.draining(ctx, r.Key), nil
	case err == nil && !found:
		err = sqlbase.MetaMissing(p.table)
	}
	if waiter != nil && err == nil {
		a.Pending = leaves && a.Verdict != sqlbase.Granted
		if p.waiters.answered(r, a, there) {
			return p.rejoin(ctx, r)
		}
	}
	return a, err
}

func (p *Backend) Release(ctx context.Context, g driver.Grant) error {
	grant := []any{g.Key.Namespace, g.Key.Name, g.Nonce.String(), int64(g.Token)}
	verb, args := "release", append(grant, g.MinHold.Microseconds())
	if g.Token == 0 {
		if withdrawn, err := p.withdraw(ctx, g); withdrawn || err != nil {
			return p.classify(ctx, "release", g.Key, err)
		}
	}
	leaver, crowded := p.waiters.leaver(g.Key)
	if crowded {
		verb, args = "release_passing", append(args, sql.NullString{String: leaver, Valid: leaver != ""})
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

// HandOver takes one round trip.
func (p *Backend) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	args := append(sqlbase.HandOverArgs(from, r), p.waiters.called(r.Key))
	g, err := sqlbase.HandOver(ctx, r, func() (sqlbase.Answer, error) {
		var a sqlbase.Answer
		found, err := p.releases.one(ctx, "hand_over", args, a.Dest()...)
		if err == nil && !found {
			err = sqlbase.MetaMissing(p.table)
		}
		return a, err
	})
	if err == nil {
		p.waiters.handed(r.Key)
	}
	return g, p.classify(ctx, "hand over", r.Key, err)
}
