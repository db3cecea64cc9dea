package fence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/backoff"
)

// The first and the longest delay before an attempt is repeated.
const (
	firstPause = 2 * time.Millisecond
	longPause  = 100 * time.Millisecond
)

// explainLimit is the time limit for the request to the lock's store that explains a rejected seal.
const explainLimit = time.Second

// Seal makes lease the newest holder of the resources. Without resources, the resource is the name of the lock. In one
// transaction of its own, Seal raises the marks of the resources to the lease's token and nonce. The marks are durable
// when Seal returns. From then on, [Guard.Check] rejects every older lease, and all committed writes of older leases
// are visible. To guarantee this, Seal waits for the open transactions that an older lease has checked. Call it once
// after acquiring, before reading anything that the lock protects. A second call with the same lease has no effect.
//
// Two limits end the wait. If ctx ends, the error is that of ctx. Seal also stops waiting after the time for which the
// lease is trusted when Seal begins. The error is then an [ErrRetry] and a rowlock.ErrUnavailable.
// So the wait may use up all of the trust. After such an error nothing is sealed, unless the reply to the commit was
// lost. A second Seal with the same lease then succeeds if the first one was committed.
//
// If the lease is not newer than the one that sealed last, the error is a [*StaleError], and no resource is sealed.
// Seal then renews the lease, to find out whether the store still has it. This renewal takes a second at most. If the
// renewal succeeds, the mark is wrong ([StaleError].Ahead). If the store no longer has the lease, the lease is lost
// from then on. Tokens of different locks, or of different kinds of store, are not comparable: if the mark is of
// another domain, the error is a [*OtherDomainError].
//
// Resources follow the rules for names of locks. Two resources with the same name are different if their leases are in
// different namespaces. A lease of a store that grants no tokens cannot seal: see [Guard.Claim]. If the lease has
// ended, the error says how it ended (rowlock.ErrLost, rowlock.ErrReleased). If a table is missing, the error is a
// [*SchemaError]. The error is a rowlock.ErrUnavailable if the database cannot be reached, closes the connection, has a
// full disk, or is read-only.
func (g *Guard) Seal(ctx context.Context, lease *rowlock.Lease, resources ...string) error {
	if g.err != nil {
		return g.err
	}
	if lease == nil {
		return errors.New("fence: seal: the lease is nil")
	}
	c, err := newClaim(g.domain, lease, resources)
	if err != nil {
		return err
	}
	if c.token == 0 {
		return fmt.Errorf("fence: seal %q: the lease has no token, because its store (%s) grants none: use Claim, or Fenced(guard.Claimer())", c.resources, lease.Backend())
	}
	if err := lease.Err(); err != nil {
		return c.wrap(ctx, "seal", err)
	}
	bounded, cancel := c.within(ctx)
	defer cancel()
	err = interrupted(bounded, insist(bounded, func() error { return g.dialect.seal(bounded, c) }))
	if bounded.Err() == nil && unanswered(err) {
		err = fmt.Errorf("%w: %w", rowlock.ErrUnavailable, err)
	}
	if takesNoWrites(err) {
		err = fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	var stale *StaleError
	if errors.As(err, &stale) {
		stale.Ahead = stillHeld(bounded, lease)
	}
	return c.waited(ctx, "seal", err)
}

// waited does what the method wrap does, for Seal and Claim. If the wait ended although ctx and the lease have not
// ended, the error is also a rowlock.ErrUnavailable.
func (c claim) waited(ctx context.Context, operation string, err error) error {
	err = c.wrap(ctx, operation, err)
	if errors.Is(err, ErrRetry) && ctx.Err() == nil && c.lease.Err() == nil {
		return fmt.Errorf("%w: %w", err, rowlock.ErrUnavailable)
	}
	return err
}

// stillHeld renews the lease, and reports whether the store still has it. It returns false if the reply does not come
// in time.
func stillHeld(ctx context.Context, lease *rowlock.Lease) bool {
	ctx, cancel := context.WithTimeout(ctx, explainLimit)
	defer cancel()
	return lease.Renew(ctx) == nil
}

// insist calls the given function, and calls it again after each [ErrRetry], until ctx ends.
func insist(ctx context.Context, once func() error) error {
	var undone error
	for step := firstPause; ; step = min(2*step, longPause) {
		err := once()
		if undone != nil && err != nil && ctx.Err() != nil {
			err = undone // this error says more than the last one, which only says that the attempt was interrupted
		}
		undone = err
		if err == nil || !errors.Is(err, ErrRetry) || !backoff.Sleep(ctx, backoff.Jitter(step)) {
			return err
		}
	}
}
