package fence

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowlock/rowlock"
)

// claims is the store's name in the domains of tokens that Claim generates.
const claims = "claim"

// minting has the functions that Claim needs and Seal does not need.
type minting struct {
	prove  func(ctx context.Context) error // verifies that the lease is held, while the marks are locked
	before func(resource string) bool      // whether the lease has already claimed the resource
}

// claimant identifies a resource and the lease that has claimed it.
type claimant struct{ nonce, resource string }

// Claim is [Guard.Seal] for a lock whose store has no reliable token (Redlock, a plain GET_LOCK). The database of the
// resource generates the token instead. Claim takes these steps:
//
//  1. It waits for the open transactions that older holders have checked, and locks the marks of the resources. Without
//     resources, the resource is the name of the lock.
//  2. It renews the lease while the marks are locked.
//  3. It gives each mark a token that is larger than the mark's earlier token, and commits.
//
// [Guard.Check] works as after a seal. Call Claim once after acquiring, and before reading anything that the lock
// protects.
//
// As long as the store grants the lock to one holder at a time, holders claim in the order in which they held the lock.
// If a holder has lost its lock and claims late, the lock's store rejects the renewal. If a holder is suspended after
// the renewal, the marks stay locked, so its successor claims after it. If the store grants the lock to two holders at
// the same time, the holder that claimed first gets [ErrStale] at its next check. So no update is lost.
//
// A second Claim by the same lease has no effect. It returns [ErrStale] if another lease has claimed in between,
// because what the holder has read may be out of date. Only this guard remembers the claim, for as long as the lease is
// held. Therefore, never repeat a claim with another guard.
//
// The renewal is a request to the lock's store. If the store no longer has the lease, Claim returns the error that
// ended the lease. If the store does not reply, the error is a rowlock.ErrUnknown. With either error nothing is
// claimed. If the locks are in the same database, the renewal needs a second connection of the pool. On SQLite,
// a lock in the same file cannot be renewed while Claim has locked the file, and Claim returns a rowlock.ErrUnknown.
// Such a lock has tokens, so use Seal.
//
// ctx and the lease's trust limit the call as they limit [Guard.Seal], and the other errors are the same as those of
// Seal. A process may be suspended during Claim. Postgres, MySQL and MariaDB then end its transaction within about a
// second of the time when the lease's trust would have ended. The tokens of two claims are comparable only if their
// locks have the same name. If the mark's token is not comparable, the error is a [*OtherDomainError].
func (g *Guard) Claim(ctx context.Context, lease *rowlock.Lease, resources ...string) error {
	if g.err != nil {
		return g.err
	}
	if lease == nil {
		return errors.New("fence: claim: the lease is nil")
	}
	c, err := newClaim(claims, lease, resources)
	if err != nil {
		return err
	}
	if err := lease.Err(); err != nil {
		return c.wrap(ctx, "claim", err)
	}
	c.mint = &minting{
		prove: func(ctx context.Context) error { return g.unproven(lease.Renew(ctx)) },
		before: func(resource string) bool {
			_, known := g.claimed.Load(claimant{c.nonce, resource})
			return known
		},
	}
	bounded, cancel := c.within(ctx)
	defer cancel()
	err = interrupted(bounded, insist(bounded, func() error { return g.dialect.seal(bounded, c) }))
	if err == nil {
		err = lease.Err()
	}
	if err == nil {
		g.remember(c)
	}
	return c.waited(ctx, "claim", err)
}

// Claimer returns a Sealer that calls [Guard.Claim], for the option rowlock.Fenced: rowlock.Fenced(guard.Claimer()).
func (g *Guard) Claimer() rowlock.Sealer { return claimer{g} }

type claimer struct{ guard *Guard }

func (c claimer) Seal(ctx context.Context, lease *rowlock.Lease, resources ...string) error {
	return c.guard.Claim(ctx, lease, resources...)
}

// remember records that c's lease has claimed the resources, until the lease ends.
func (g *Guard) remember(c claim) {
	for _, r := range c.resources {
		key := claimant{c.nonce, r}
		if _, known := g.claimed.LoadOrStore(key, nil); !known {
			context.AfterFunc(c.lease.Context(), func() { g.claimed.Delete(key) })
		}
	}
}

var errSameFile = errors.New("if the lock is in the same SQLite file, its lease cannot be renewed during a Claim: use Seal")

// unproven adds a hint to the error of a renewal on SQLite, because the claim itself may have blocked that renewal.
func (g *Guard) unproven(err error) error {
	if _, ok := g.dialect.(*sqlite); ok && errors.Is(err, rowlock.ErrUnknown) {
		return fmt.Errorf("%w; %w", err, errSameFile)
	}
	return err
}
