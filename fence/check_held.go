package fence

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// CheckHeld does what [Guard.Check] does, and also reads the lease table. There it verifies that the lease still exists
// and has not expired by the database's clock. Check alone relies on the deadline that the holder itself computes. If
// an operator has ended the lease, or another holder has the lock, Check notices that only after a successor has
// sealed. The lease must be granted by package sqllock. It must be stored in the guard's database, in the lease table
// that the guard's option [Table] names.
//
// tx, ctx, resources and errors are those of Check. There are three more errors:
//
//   - rowlock.ErrLost: the lease has ended in the database. Roll back and stop.
//   - [ErrRetry]: the lease is still trusted, but has expired in the snapshot of the transaction. The snapshot may be
//     older than the last renewal. This happens on Postgres at REPEATABLE READ and SERIALIZABLE. On MySQL a session
//     cannot query its isolation level, so CheckHeld returns this error at every level. A second CheckHeld in the same
//     transaction reads the same snapshot and does not help. So call CheckHeld once, as the first statement.
//   - An error which says that the lease is not stored in this database and table.
//
// CheckHeld takes no lock on the lease, so an open transaction does not delay the renewal. There are two exceptions.
// At SERIALIZABLE on MySQL and MariaDB every read takes a lock. So the outcome of each renewal is unknown until the
// transaction ends. A SQLite file has one writer at a time, so a renewal waits until the transaction ends.
// In these two cases, a transaction that lasts until trust ends loses the lease, and on SQLite its ctx ends as well.
// Keep such a transaction shorter than half the TTL.
func (g *Guard) CheckHeld(ctx context.Context, tx Transaction, resources ...string) error {
	claims, err := g.kept(ctx, resources)
	if err != nil {
		return err
	}
	q, err := g.openTransaction(tx)
	if err != nil {
		return err
	}
	return g.checkHeld(ctx, q, claims)
}

// CheckHeldPgx is [Guard.CheckHeld] for a transaction of pgx. The guard must come from [Pgx] or [Postgres].
func (g *Guard) CheckHeldPgx(ctx context.Context, tx pgx.Tx, resources ...string) error {
	claims, err := g.kept(ctx, resources)
	if err != nil {
		return err
	}
	q, err := g.openPgx(tx)
	if err != nil {
		return err
	}
	return g.checkHeld(ctx, q, claims)
}

// checkHeld compares the marks with each lease, and then reads the lease's row in the lease table.
func (g *Guard) checkHeld(ctx context.Context, q querier, claims []claim) error {
	for i, c := range claims {
		err := g.prove(ctx, "check that it is held", c, func(ctx context.Context) error {
			err := g.checked(ctx, q, i > 0, c, nil)
			if err == nil {
				err = g.dialect.held(ctx, q, c)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// kept returns the claims of the leases in ctx. It returns an error if a lease is stored in another kind of database
// than the guard's.
func (g *Guard) kept(ctx context.Context, resources []string) ([]claim, error) {
	claims, err := g.claimsOf(ctx, resources)
	if err != nil {
		return nil, err
	}
	for _, c := range claims {
		if err := g.keeps(c); err != nil {
			return nil, err
		}
	}
	return claims, nil
}

// keeps returns an error if the lease of c is stored in another kind of database than the guard's.
func (g *Guard) keeps(c claim) error {
	if keeper := g.dialect.keeper(); c.lease.Backend() != keeper {
		return fmt.Errorf("fence: the lease %q is stored by %q: this call needs a lease of %s, in the database and the table of the guard", c.lease.Name(), c.lease.Backend(), keeper)
	}
	return nil
}
