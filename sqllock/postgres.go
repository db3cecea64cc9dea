package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// postgres is the dialect of PostgreSQL 12 and newer.
type postgres struct {
	q     querier
	table sqltable.Table
	sql   statements

	waiters waiters

	// unprepared is set once a server has answered that it does not know, or knows already, a
	// statement that pgx had prepared: there is a pooler in between that mixes up sessions.
	unprepared atomic.Bool
}

func newPostgres(q querier, t sqltable.Table, open func(context.Context) (ear, error), hears bool) *postgres {
	p := &postgres{q: q, table: t, sql: load(t, "postgres", `"`)}
	p.waiters.pg, p.waiters.open, p.waiters.unheard = p, open, !hears
	return p
}

// Capabilities says what lease rows in Postgres promise.
func (p *postgres) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "sqllock/postgres", Token: driver.LinearizableToken, Wakes: p.waiters.wakes(), Inspects: true, Pauses: true}
	if p.waiters.behindPooler() {
		c.Warnings = append(c.Warnings, "waiters poll, because a pooler stands before the server, through which nobody can be notified: give the locks a pool of their own that reaches the server directly")
	}
	return c
}

// run calls once with the arguments that suit the connection, and again for as long as the server
// answers that the statement had no effect and may be sent again.
func (p *postgres) run(ctx context.Context, args []any, once func(args []any) error) error {
	return retry(ctx, transient, func() error {
		prepared := !p.unprepared.Load()
		err := once(p.args(args))
		if prepared && mixedUp(err) {
			p.unprepared.Store(true)
			err = once(p.args(args))
		}
		return err
	})
}

// args puts the mode in front that makes pgx send statements without preparing them.
func (p *postgres) args(args []any) []any {
	if !p.unprepared.Load() {
		return args
	}
	return append([]any{pgx.QueryExecModeExec}, args...)
}

// mixedUp recognises a transaction pooler that does not follow prepared statements (PgBouncer
// before 1.21): duplicate_prepared_statement and invalid_sql_statement_name. Nothing has run. Other
// drivers than pgx have no mode to fall back to.
func mixedUp(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "42P05" || e.Code == "26000")
}

// one runs a statement that answers with one row at most, and reports whether it did.
func (p *postgres) one(ctx context.Context, verb string, args []any, dest ...any) (found bool, err error) {
	err = p.run(ctx, args, func(args []any) error {
		found, err = queryOne(ctx, p.q, p.sql[verb], args, dest...)
		return err
	})
	return found, err
}

// exec runs a statement that answers nothing.
func (p *postgres) exec(ctx context.Context, verb string, args ...any) error {
	return p.run(ctx, args, func(args []any) error {
		_, err := p.q.exec(ctx, p.sql[verb], args...)
		return err
	})
}

func (p *postgres) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if token, called := p.waiters.passed(r); called {
		g := grantOf(r, token)
		g.Earlier = true
		return g, nil
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
			vEpoch: func() error { return p.exec(ctx, "adopt_epoch") },
			vTTL:   func() error { return p.exec(ctx, "raise_longest_ttl", closedFor.Microseconds()) },
		})
	if err != nil {
		err = p.classify(ctx, "acquire", r.Key, err)
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
		found, err := p.one(ctx, verb, args, &a.verdict)
		if err == nil && !found {
			_, err = p.one(ctx, "released_before", grant, &a.verdict)
		}
		return err
	})
	return p.classify(ctx, "release", g.Key, err)
}
