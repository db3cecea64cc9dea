package fence

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// CheckHeld is [Guard.Check] and, besides, the proof that the lease is alive now by the database's clock.
// Check alone believes the lease's own deadline, and refuses a lease that somebody has ended or taken
// over only once a successor has sealed. The lease must be kept by package sqllock in the same
// database and table ([Table]). Tx, ctx, resources and errors are those of Check; the others:
//
//   - rowlock.ErrLost: the database does not hold the lease any more. Roll back and stop.
//   - [ErrRetry]: the lease has expired in the transaction's snapshot, which may be older than a
//     renewal, while the lease is trusted. That is at REPEATABLE READ and SERIALIZABLE on Postgres,
//     and on MySQL, where the level cannot be asked, at all. A later CheckHeld in the same transaction
//     reads the same snapshot: call it once, first.
//   - One that says that the lease is not kept here.
//
// CheckHeld takes no lock on the lease, so an open transaction does not delay its renewal, but for two
// cases. At SERIALIZABLE on MySQL and MariaDB every read locks: a renewal fails as unknown until the
// transaction ends. And a SQLite file has one writer: a renewal waits for the transaction. In
// both, a transaction that lasts until the end of trust loses the lease; on SQLite its ctx ends
// then, too. It should be shorter than half a TTL.
func (g *Guard) CheckHeld(ctx context.Context, tx Transaction, resources ...string) error {
	c, err := g.kept(ctx, resources)
	if err != nil {
		return err
	}
	q, err := g.openTransaction(tx)
	if err != nil {
		return err
	}
	return g.checkHeld(ctx, q, c)
}

// CheckHeldPgx is [Guard.CheckHeld] for a transaction of pgx. The guard must be one for Postgres.
func (g *Guard) CheckHeldPgx(ctx context.Context, tx pgx.Tx, resources ...string) error {
	c, err := g.kept(ctx, resources)
	if err != nil {
		return err
	}
	q, err := g.openPgx(tx)
	if err != nil {
		return err
	}
	return g.checkHeld(ctx, q, c)
}

// checkHeld checks, and looks at the lease's row.
func (g *Guard) checkHeld(ctx context.Context, q querier, c claim) error {
	return g.prove(ctx, "check that it is held", c, func(ctx context.Context) error {
		err := g.checked(ctx, q, false, c, nil)
		if err == nil {
			err = g.dialect.held(ctx, q, c)
		}
		return err
	})
}

// kept is the claim of a lease that the guard's own kind of database has granted.
func (g *Guard) kept(ctx context.Context, resources []string) (claim, error) {
	c, err := g.claimOf(ctx, resources)
	if err != nil {
		return claim{}, err
	}
	if keeper := g.dialect.keeper(); c.lease.Backend() != keeper {
		return claim{}, fmt.Errorf("fence: the lease %q is kept by %q: want %s, in the same database and table as the marks", c.lease.Name(), c.lease.Backend(), keeper)
	}
	return c, nil
}
