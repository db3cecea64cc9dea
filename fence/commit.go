package fence

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
)

// ReleaseOnCommit is [Guard.Tx], and its commit also releases the lease in ctx. So the last step of a batch and the end
// of its lock are committed together, or neither is. If the lease is alive by the database's clock, its row is released
// inside the transaction. Therefore no other process can acquire the name before it can see what fn wrote. After the
// commit the name is free at once, or when MinHold is over. Package sqllock must keep the lease in the same database
// and table ([Table]).
//
// nil means that all of it was committed, and that the lease is released as by its Release. [ErrUnknown] means that the
// commit may have been applied. If it was, the renewal that follows at once finds the lease lost. Any other error means
// that nothing was committed. The lease then goes on, unless the error is rowlock.ErrLost: the database no longer holds
// the lease, or its trust ended.
//
// The lease is not renewed meanwhile. fn and all its retries have to finish within the trust that is left, and are
// rolled back when it ends. Call Lease.Renew first to have as much time as possible. Do long work in earlier
// transactions, and only the last step here. If another ReleaseOnCommit or ReleaseWith of the lease is in progress, the
// error is a rowlock.ErrUnavailable.
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
	c, err := g.claimOf(ctx, resources)
	if err == nil {
		err = g.keeps(c)
	}
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
		return nil // even if trust ended before the reply arrived: the lease was alive in the database
	}
	return err
}

// held runs one step on the lease's row, within the lease's trust.
func (c claim) held(ctx context.Context, operation string, step func(ctx context.Context) error) error {
	bounded, cancel := c.within(ctx)
	defer cancel()
	return c.wrap(ctx, operation, interrupted(bounded, step(bounded)))
}
