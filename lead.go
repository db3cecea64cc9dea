package rowlock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
)

// Lead has this process be one candidate of many for name, and runs run while it leads. It waits for
// the name as [Locker.Acquire] does, calls run, and campaigns again when the term was lost.
//
// The ctx handed to run ends when ctx does, and the moment the lease is trusted no more; [FromContext]
// finds the lease in it, whose token tells the terms apart. Run should then return at once: others may
// lead from now on, and this process is no candidate until run has returned.
//
// Run ends its term by returning. If the lease was held to the end, it is released and Lead returns what
// run returned: nil for work that is done, an error for work that failed. So a run that wants to lead on
// returns only when its ctx has ended. If the lease was lost, what run returned is not looked at, for a
// program whose ctx ends under it fails in many ways; the work is the next leader's, who may be this
// process. When run panics, the lease is released.
//
// Lead ends when ctx ends: with what run returned, or, if it did not lead, with an error that is ctx's
// and, if another led, an [ErrHeld] that says who. It outlasts a store or a guard's database that is away, and asks it again after
// pauses of a few seconds at most. But where the store has not answered yet and refuses in a way that
// asking again does not mend (no table, no privilege), that is a mistake in the set-up, and Lead returns an
// [ErrUnavailable]. It also returns [ErrClosed], what a guard says that cannot seal, and which option or
// name cannot work.
//
// The options are those of Acquire, but for [Wait], which is without effect: a candidate waits for as
// long as ctx permits. [MaxHold] bounds a term.
func Lead(ctx context.Context, locker *Locker, name string, run func(ctx context.Context, lease *Lease) error, opts ...Option) error {
	c := campaign{locker: locker, name: name, opts: append(slices.Clone(opts), waitForever)}
	pause := campaignPause
	for {
		lease, err := c.acquire(ctx)
		if err == nil {
			pause = campaignPause
			err = lease.run(ctx, run)
			if !errors.Is(lease.Release(ctx), ErrLost) {
				return err
			}
		} else if errors.Is(err, ctx.Err()) || !c.again(err) {
			return err
		}
		backoff.Sleep(ctx, pause.Step()) // if ctx ends in it, acquire says so
	}
}

// campaignPause follows a lost term or a failed campaign, which itself has asked for as long as a TTL.
var campaignPause = backoff.Backoff{Next: 100 * time.Millisecond, Most: 5 * time.Second}

func waitForever(s *settings) { s.wait, s.waitSet = 0, false }

// campaign is one candidate's way to its terms.
type campaign struct {
	locker *Locker
	name   string
	opts   []Option
	heard  bool // the store has once granted or refused
}

func (c *campaign) acquire(ctx context.Context) (*Lease, error) {
	a, err := c.locker.newAcquisition(ctx, c.name, c.opts)
	if err != nil {
		return nil, err
	}
	lease, err := a.run(a.wait)
	c.heard = c.heard || a.lease != nil || a.held != nil
	return lease, err
}

// again says whether a campaign that failed so is worth another.
func (c *campaign) again(err error) bool {
	if errors.Is(err, ErrLost) { // while it was sealed
		return true
	}
	return errors.Is(err, ErrUnavailable) && (c.heard || !driver.IsPermanent(err))
}
