package fence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/backoff"
)

// Pauses between two attempts at what the database undid.
const (
	firstPause = 2 * time.Millisecond
	longPause  = 100 * time.Millisecond
)

// explainLimit bounds the question to the lock's store that explains a refusal.
const explainLimit = time.Second

// Seal makes lease the newest holder of the resources, by default of its own name: it raises their
// marks to the lease's token and nonce, all in one transaction of its own, which is durable when Seal
// returns. From then on every older lease fails its [Guard.Check], and all that older leases have
// done is visible. For that, Seal waits for the transactions that an older lease has checked and
// not yet ended. Call it once after acquiring and before reading anything that the lock protects;
// calling it again with the same lease is free of effect.
//
// The wait is bounded by ctx, whose error it then is, and by the trust that the lease has left when
// Seal begins, which makes it an [ErrRetry] and a rowlock.ErrUnavailable; it may be all. Nothing was sealed then unless the
// reply to the commit was lost, and sealing again settles that. A lease that is not newer than the
// one that sealed last gets a [*StaleError], and nothing is written: no resource is sealed unless
// all are. Seal then renews the lease, for at most a second: one that its store still holds for us
// tells that it is the mark that is wrong ([StaleError].Ahead), and one that is lost is lost from
// then on. Tokens of different locks, or of different kinds of store, are not comparable: where the
// mark is of another domain, the error is a [*OtherDomainError]. Resources follow the rules of the names
// of locks and are kept apart by the lease's namespace.
//
// A lease of a store that grants no tokens cannot seal: see [Guard.Claim]. One that has ended gets
// what ended it (rowlock.ErrLost, rowlock.ErrReleased); a table that is missing is a
// [*SchemaError]. A database that cannot be asked, hangs up, has no room or is a read-only server is a
// rowlock.ErrUnavailable.
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
		return fmt.Errorf("fence: seal %q: the lease has no token, because its store (%s) grants none: use Claim, or Fenced(guard.Claims())", c.resources, lease.Backend())
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

// waited is wrap for a call that has waited for as long as anybody can.
func (c claim) waited(ctx context.Context, operation string, err error) error {
	err = c.wrap(ctx, operation, err)
	if errors.Is(err, ErrRetry) && ctx.Err() == nil && c.lease.Err() == nil {
		return fmt.Errorf("%w: %w", err, rowlock.ErrUnavailable)
	}
	return err
}

// stillHeld asks the lock's store whether it has granted the lock to nobody since. An answer that
// does not come soon is none.
func stillHeld(ctx context.Context, lease *rowlock.Lease) bool {
	ctx, cancel := context.WithTimeout(ctx, explainLimit)
	defer cancel()
	return lease.Renew(ctx) == nil
}

// insist runs once again and again while the database undoes it, until ctx ends.
func insist(ctx context.Context, once func() error) error {
	var undone error
	for step := firstPause; ; step = min(2*step, longPause) {
		err := once()
		if undone != nil && err != nil && ctx.Err() != nil {
			err = undone // which says more than that the last try was interrupted
		}
		undone = err
		if err == nil || !errors.Is(err, ErrRetry) || !backoff.Sleep(ctx, backoff.Jitter(step)) {
			return err
		}
	}
}
