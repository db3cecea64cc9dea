package fence

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowlock/rowlock"
)

// claims is the store that tokens are from which Claim makes.
const claims = "claim"

// minting is what a Claim adds to a seal.
type minting struct {
	prove  func(ctx context.Context) error // that the lease is held, asked under the locks of the marks
	before func(resource string) bool      // whether the lease has claimed it already
}

// claimant is a lease on one resource.
type claimant struct{ nonce, resource string }

// Claim is [Guard.Seal] for a lock whose store has no token to rely on (Redlock, a plain GET_LOCK):
// the resource's own database makes the token. Claim locks the marks of the resources, by default of
// the lock's own name, which waits for the transactions that older holders have checked; renews the
// lease under these locks; gives each mark a larger token than it had; and commits. [Guard.Check] works
// as after a seal. Call it once after acquiring and before reading anything that the lock protects.
//
// So the claims have the order of the holds as far as the store excludes at all. A holder that lost its
// lock and claims late is refused by its own store. One that was found holding the lock and was then
// stopped has the marks locked, so that its successor's claim comes after its own. Where the store
// does not exclude, which is why it has no token, two holders are still put into one order: the one
// that claimed first gets an [ErrStale] at its next check, and no update is lost.
//
// A lease that has claimed already claims again without effect, and gets an [ErrStale] if another one
// has claimed since: what it has read may be out of date. The guard remembers that as long as the
// lease is held; with another guard it must not be tried.
//
// The renewal is a request to the lock's store. When it finds the lease lost, the error is what ended
// the lease; a rowlock.ErrUnknown when no answer came. Nothing is claimed then. Where the locks are in
// the same database, the pool must have a connection to spare; on SQLite, with its one writer a file,
// the renewal of a lock in the same file waits in vain and ends as unknown: that lock has tokens, so
// use Seal. ctx, the lease's trust and the other errors are as for [Guard.Seal]. On Postgres, MySQL and
// MariaDB the server ends the claim of a process that is stopped when the lease's trust would have
// ended, give or take a second. Tokens of a claim are comparable with those of claims under the same
// lock's name only: else the error is a [*OtherDomainError].
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

// Claims makes a guard's [Guard.Claim] what the option rowlock.Fenced calls:
// rowlock.Fenced(guard.Claims()).
func (g *Guard) Claims() rowlock.Sealer { return claiming{g} }

type claiming struct{ guard *Guard }

func (c claiming) Seal(ctx context.Context, lease *rowlock.Lease, resources ...string) error {
	return c.guard.Claim(ctx, lease, resources...)
}

// remember notes what c's lease has claimed, until it ends.
func (g *Guard) remember(c claim) {
	for _, r := range c.resources {
		key := claimant{c.nonce, r}
		if _, known := g.claimed.LoadOrStore(key, nil); !known {
			context.AfterFunc(c.lease.Context(), func() { g.claimed.Delete(key) })
		}
	}
}

var errSameFile = errors.New("a lock in the same SQLite file cannot be renewed while it claims: use Seal")

// unproven explains an unknown renewal where the claim itself may have kept it waiting.
func (g *Guard) unproven(err error) error {
	if _, ok := g.dialect.(*sqlite); ok && errors.Is(err, rowlock.ErrUnknown) {
		return fmt.Errorf("%w; %w", err, errSameFile)
	}
	return err
}
