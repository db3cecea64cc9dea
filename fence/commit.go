package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ReleaseOnCommit runs fn in a transaction as [Guard.Tx] does, and the commit also releases the lease in ctx. So the
// last step of a batch and the release of its lock are committed together, or neither is. The transaction releases the
// lease only if the lease has not expired by the database's clock. Every process that acquires the name afterwards can
// see what fn wrote. After the commit the name is free at once, or when MinHold is over. The lease must be granted by
// package sqllock. It must be stored in the guard's database, in the lease table that the guard's option [Table] names.
//
// If the result is nil, the transaction was committed and the lease was released, as if by Lease.Release. [ErrUnknown]
// means that the commit may have been applied. The lease is then renewed at once, and is lost if the commit was
// applied. Any other error means that nothing was committed. The lease then continues. But if the error is
// rowlock.ErrLost, the lease has ended in the database, or its trust has ended.
//
// During the call, the lease is not renewed. So fn and all its retries must finish within the time for which the lease
// is trusted when the call begins. Otherwise the transaction is rolled back. Call Lease.Renew first to have as much
// time as possible. Do long work in earlier transactions, and only the last step in fn. If another ReleaseOnCommit or
// ReleaseWith of the lease is in progress, the error is a rowlock.ErrUnavailable.
//
// For a lease with the option rowlock.Shared, the error is an [errors.ErrUnsupported], because one row of the lease
// table belongs to all readers. Release such a lease after the commit.
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
	if err == nil && c.lease.Shared() {
		err = fmt.Errorf("fence: release %s: the lease is shared with other readers, and a commit cannot end the lease of one reader: release it after the commit: %w", c.subject(), errors.ErrUnsupported)
	}
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
		return nil // even if trust ended before the reply arrived: the commit has released the lease, so the lease was not lost
	}
	return err
}

// held runs the function step, which executes a statement on the lease's row. It cancels the statement when the lease
// is no longer trusted.
func (c claim) held(ctx context.Context, operation string, step func(ctx context.Context) error) error {
	bounded, cancel := c.within(ctx)
	defer cancel()
	return c.wrap(ctx, operation, interrupted(bounded, step(bounded)))
}
