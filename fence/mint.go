package fence

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowlock/rowlock"
)

// claims is the store in the domain of tokens that Claim generates.
const claims = "claim"

// minting is what a Claim needs in addition to a seal.
type minting struct {
	prove  func(ctx context.Context) error // verifies that the lease is held, while the marks are locked
	before func(resource string) bool      // whether the lease has already claimed the resource
}

// claimant is a lease on one resource.
type claimant struct{ nonce, resource string }

// Claim is [Guard.Seal] for a lock whose store has no reliable token (Redlock, a plain GET_LOCK). The database of the
// resource generates the token instead. Claim takes these steps:
//
//  1. It locks the marks of the resources, by default that of the lock's own name. This waits for the transactions
//     that older holders have checked.
//  2. It renews the lease while it has these locks.
//  3. It gives each mark a larger token, and commits.
//
// [Guard.Check] works as after a seal. Call Claim once after acquiring, and before reading anything that the lock
// protects.
//
// As long as the store excludes, claims have the same order as holds. If a holder has lost its lock and claims late,
// its own store rejects the renewal. If a holder is suspended after the renewal, it has the marks locked, so its
// successor's claim comes after its own. If the store fails to exclude, two holders still get one order: the one that
// claimed first gets [ErrStale] at its next check, and no update is lost.
//
// A second Claim by the same lease has no effect. It returns [ErrStale] if another lease has claimed in between,
// because what the holder has read may be out of date. The guard remembers a claim while the lease is held. Do not
// repeat a claim with another guard.
//
// The renewal is a request to the lock's store. If it finds the lease lost, the error is the one that ended the lease.
// If there is no reply, the error is a rowlock.ErrUnknown. In both cases nothing is claimed. If the locks are in the
// same database, the pool must have a spare connection. On SQLite, a lock in the same file cannot be renewed meanwhile,
// and the claim ends as unknown. That lock has tokens, so use Seal.
//
// ctx, the lease's trust and the other errors are as for [Guard.Seal]. On Postgres, MySQL and MariaDB, the server ends
// the claim of a suspended process when the lease's trust would have ended, within about a second. A token of a claim
// is comparable only with claims under the same lock's name. Otherwise the error is a [*OtherDomainError].
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

// remember records what c's lease has claimed, until the lease ends.
func (g *Guard) remember(c claim) {
	for _, r := range c.resources {
		key := claimant{c.nonce, r}
		if _, known := g.claimed.LoadOrStore(key, nil); !known {
			context.AfterFunc(c.lease.Context(), func() { g.claimed.Delete(key) })
		}
	}
}

var errSameFile = errors.New("a lock in the same SQLite file cannot be renewed while it claims: use Seal")

// unproven explains an unknown renewal if the claim itself may have blocked it.
func (g *Guard) unproven(err error) error {
	if _, ok := g.dialect.(*sqlite); ok && errors.Is(err, rowlock.ErrUnknown) {
		return fmt.Errorf("%w; %w", err, errSameFile)
	}
	return err
}
