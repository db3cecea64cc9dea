package fence

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
)

// ReleaseOnCommit is [Guard.Tx], and the lease in ctx ends with the transaction's commit: a batch's
// last step and its lock end together, or neither does. Before the commit the lease's row is given
// back, if the lease is alive by the database's clock; so nobody is granted the name before what fn
// wrote can be seen, and from then on the next can be at once (after MinHold, if that was asked for).
// The lease must be kept by package sqllock in the same database and table ([Table]).
//
// When it returns nil, all of it was committed, and the lease is released as by its Release. An
// [ErrUnknown] leaves open whether it was; if so, the renewal that follows at once finds the lease lost.
// After any other error nothing was committed, and the lease goes on unless the error is a
// rowlock.ErrLost: the database does not hold it any more, or its trust ended.
//
// The lease is not renewed while it runs: fn, with all repetitions, has the trust that is left, and
// is ended and rolled back with it. Lease.Renew before gives it the most. Long work belongs in
// transactions of its own before, with only the last step here. Where another ReleaseOnCommit or
// ReleaseWith of the lease is under way, it is a rowlock.ErrUnavailable.
func (g *Guard) ReleaseOnCommit(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error, resources ...string) error {
	return g.releaseOnCommit(ctx, resources, func(ctx context.Context, c claim) error {
		return g.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if err := fn(ctx, tx); err != nil {
				return err
			}
			return c.held(ctx, "release", func(ctx context.Context) error { return g.dialect.release(ctx, sqlQuerier{conn: tx}, c) })
		}, resources...)
	})
}

// ReleaseOnCommitPgx is [Guard.ReleaseOnCommit] for a guard with a pgx pool.
func (g *Guard) ReleaseOnCommitPgx(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error, resources ...string) error {
	return g.releaseOnCommit(ctx, resources, func(ctx context.Context, c claim) error {
		return g.TxPgx(ctx, func(ctx context.Context, tx pgx.Tx) error {
			if err := fn(ctx, tx); err != nil {
				return err
			}
			return c.held(ctx, "release", func(ctx context.Context) error { return g.dialect.release(ctx, pgxQuerier{conn: tx}, c) })
		}, resources...)
	})
}

func (g *Guard) releaseOnCommit(ctx context.Context, resources []string, tx func(ctx context.Context, c claim) error) error {
	c, err := g.kept(ctx, resources)
	if err != nil {
		return err
	}
	committed := false
	err = c.lease.ReleaseWith(ctx, func(ctx context.Context) error {
		err := tx(ctx, c)
		committed = err == nil
		return err
	})
	if committed {
		return nil // even if trust ended before the answer came: the lease was alive in the database
	}
	return err
}

// held runs one step on the lease's row, bounded by the lease's trust.
func (c claim) held(ctx context.Context, operation string, step func(ctx context.Context) error) error {
	bounded, cancel := c.within(ctx)
	defer cancel()
	return c.wrap(ctx, operation, interrupted(bounded, step(bounded)))
}
