package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// Acquire makes one attempt. If a release has already granted the request, Acquire only reads that grant. Otherwise it
// tries the short statement first if the lock is probably free, and then the full statement, which can return a reason.
func (p *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if g, found, err := p.passed(ctx, r); found || err != nil {
		return g, p.classify(ctx, "acquire", r.Key, err)
	}
	if g, found, err := p.acquireFree(ctx, r); found || err != nil {
		return g, p.classify(ctx, "acquire", r.Key, withFields(r, p.named(ctx, err)))
	}
	var recorded *sqlbase.Answer // the answer to the last attempt that recorded r in the waiter's row
	a, err := sqlbase.Settle(ctx,
		func() (sqlbase.Answer, error) {
			a, err := p.ask(ctx, r)
			if err == nil && a.Pending {
				recorded = &a
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
		case recorded == nil || !driver.IsNotApplied(err):
			return driver.Grant{}, err
		case driver.IsPermanent(err):
			return driver.Grant{}, p.withdrawAfter(ctx, r, err)
		}
		a = *recorded // the last attempt had no effect, but an earlier attempt has stored the request in the row
	}
	if a.Verdict != sqlbase.Granted {
		a.Pending = a.Pending || recorded != nil // the request of an earlier attempt remains in the row
		p.reserveForWriter(ctx, r, a)
		held := a.Held()
		held.Listed = p.waiters.listed(r, a)
		return driver.Grant{}, held
	}
	return sqlbase.GrantOf(r, a), nil
}

// acquireFree grants r with a short statement, if the lock is free or shared, and no waiter of this process waits for
// it. It sends nothing for a request that does not wait, because such a request is often refused, and the statement does
// not return the reason.
func (p *Backend) acquireFree(ctx context.Context, r driver.Request) (g driver.Grant, found bool, err error) {
	if !r.Waits || r.Waiting || r.Seal != "" || p.waiters.rowOf(r) != nil {
		return g, false, nil
	}
	verb, args := "acquire_free", acquireArgs(r)
	if r.Shared {
		verb, args = "acquire_shared_free", args[:6]
	}
	var a sqlbase.Answer
	if found, err = p.one(ctx, verb, args, &a.Token, &a.Done); found && err == nil {
		g = sqlbase.GrantOf(r, a)
	}
	return g, found, err
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

// ask makes one attempt. The statement may wait for an uncommitted insert of the same name and for the transactions of
// older holders, but only for a limited time.
func (p *Backend) ask(ctx context.Context, r driver.Request) (a sqlbase.Answer, err error) {
	row, channel, queued := p.waiters.rowOf(r), p.waiters.listener.heardOn(), false
	verb, args := "acquire", append(acquireArgs(r), row.param(), channel)
	dest := append(a.Dest(), &a.Done, &a.Readers, &a.Ahead, &queued)
	switch {
	case r.Shared:
		verb, args = "acquire_shared", slices.Delete(args, 6, 8)
	case r.Seal != "":
		verb, args, dest = "acquire_sealed", append(args, r.Seal, drainLimit(ctx, r.TTL).Milliseconds()), append(dest, &a.Sealed)
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
		return p.ask(ctx, r)
	case r.Seal != "" && (late || timedOut(ctx, err)):
		return p.draining(ctx, r.Key), nil
	case err == nil && !found:
		err = sqlbase.MetaMissing(p.table)
	case err == nil && a.Verdict == sqlbase.Missing:
		created := false
		if created, err = p.create(ctx, r.Key); created {
			return p.ask(ctx, r)
		}
		a.Verdict = sqlbase.Contended
	}
	if row == nil || err != nil {
		return a, err
	}
	a.Pending = verb == "acquire" && channel != "" && a.Verdict != sqlbase.Granted
	p.waiters.answered(row, a, queued)
	return a, nil
}

// create inserts the row of a lock, so that acquire_shared.sql and acquire_sealed.sql can grant the lock. It reports
// false if another transaction has inserted the row, or will do so when it commits.
func (p *Backend) create(ctx context.Context, key driver.Key) (created bool, err error) {
	err = p.run(ctx, []any{key.Namespace, key.Name}, func(args []any) (err error) {
		created, err = sqlbase.QueryOne(ctx, p.q, p.sql["create"], args, new(bool))
		if sqlerror.State(err) == lockNotAvailable {
			err = nil
		}
		return err
	})
	return created, err
}

// acquireArgs returns the parameters of acquire_free.sql, with which acquire.sql and acquire_sealed.sql begin. The first
// six are also those of acquire_shared.sql.
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

// passed returns the grant if a release has granted the lock to the request r, which was recorded in the waiter's row.
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
	return sqlbase.GrantOf(r, a), true, nil
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
