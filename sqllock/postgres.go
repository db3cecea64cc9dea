package sqllock

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
)

// postgres is the dialect of PostgreSQL 12 and newer.
type postgres struct {
	runner // through the application's pool

	renewals, releases runner // through the reserve where the pool is full
	reserve            *reserve
	table              sqltable.Table
	waiters            waiters
	warnings           []string // of the handle
}

// postgresHandle is what differs from one kind of handle to the other.
type postgresHandle struct {
	q       querier
	usage   func() usage
	reserve *reserve
	open    func(context.Context) (ear, error)
	hears   bool

	warnings []string
}

func newPostgres(h postgresHandle, t sqltable.Table) *postgres {
	p := &postgres{runner: runner{q: h.q, sql: load(t, "postgres", `"`), unprepared: new(atomic.Bool)}, reserve: h.reserve, table: t, warnings: h.warnings}
	p.renewals, p.releases = p.runner, p.runner
	p.renewals.q = reservedQuerier{h.q, h.usage, h.reserve, true}
	p.releases.q = reservedQuerier{h.q, h.usage, h.reserve, false}
	p.waiters.pg, p.waiters.open, p.waiters.unheard = p, h.open, !h.hears
	return p
}

// Capabilities says what lease rows in Postgres promise.
func (p *postgres) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "sqllock/postgres", Token: driver.LinearizableToken, Wakes: p.waiters.wakes(), Pauses: true}
	c.Warnings = slices.Clip(p.warnings)
	if p.waiters.behindPooler() {
		c.Warnings = append(c.Warnings, "waiters poll, because a pooler stands before the server, through which nobody can be notified: give the locks a pool of their own that reaches the server directly")
	}
	return c
}

func (p *postgres) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if g, found, err := p.passed(ctx, r); found || err != nil {
		return g, p.classify(ctx, "acquire", r.Key, err)
	}
	closedFor := max(r.TTL+r.HandoverDelay, r.MinHold)
	var left *answer // by which the request was left with its row
	a, err := settle(ctx,
		func() (answer, error) {
			a, err := p.ask(ctx, r)
			if err == nil && a.pending {
				left = &a
			}
			return a, err
		},
		map[verdict]func() error{
			vEpoch: func() error { return p.adopt(ctx) },
			vTTL:   func() error { return p.exec(ctx, "raise_longest_ttl", closedFor.Microseconds()) },
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
	if a.verdict != vGranted {
		return driver.Grant{}, a.held()
	}
	g := grantOf(r, driver.Token(a.token))
	g.Sealed = a.sealed
	return g, nil
}

// takeBack undoes that r was left with its row, for why, which says that nothing had an effect. It does not say so if that
// fails.
func (p *postgres) takeBack(ctx context.Context, r driver.Request, why error) error {
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
func (p *postgres) ask(ctx context.Context, r driver.Request) (answer, error) {
	args := []any{
		r.Key.Namespace, r.Key.Name, r.Nonce.String(), r.Holder, r.Note,
		r.TTL.Microseconds(), r.MinHold.Microseconds(), r.HandoverDelay.Microseconds(),
	}
	var a answer
	verb, dest := "acquire", a.dest()
	waiter, leaves, mode := p.waiters.waiting(r)
	there := false
	switch {
	case r.Seal != "":
		verb, args, dest = "acquire_sealed", append(append(args, waiter), sealedArgs(ctx, r)...), append(dest, &a.ahead, &a.missed, &a.sealed)
	case waiter != nil:
		verb, args, dest = "acquire_waiting", append(args, waiter, mode, p.waiters.heardOn()), append(dest, &a.ahead, &a.missed, &there)
	}
	found, late := false, false
	err := p.run(ctx, args, func(args []any) (err error) {
		found, err = queryOne(ctx, p.q, p.sql[verb], args, dest...)
		if late = sqlerror.State(err) == lockNotAvailable; late {
			a, found, err = answer{verdict: vContended}, true, nil
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
		err = metaMissing(p.table)
	}
	if waiter != nil && err == nil {
		a.pending = leaves && a.verdict != vGranted
		if p.waiters.answered(r, a, there) {
			return p.rejoin(ctx, r)
		}
	}
	return a, err
}

func (p *postgres) Release(ctx context.Context, g driver.Grant) error {
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
	err := ended(ctx, func(a *answer) error {
		found, err := p.releases.one(ctx, verb, args, &a.verdict)
		if err == nil && !found {
			_, err = p.releases.one(ctx, "released_before", grant, &a.verdict)
		}
		return err
	})
	return p.classify(ctx, "release", g.Key, err)
}
