package rowlock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
)

// Lead makes this process one of many candidates for name, and calls the function run while the process leads. It waits
// for the name as [Locker.Acquire] does, calls run, and becomes a candidate again after it has lost the name. The time
// from the call of run to its return is a term.
//
// The context that run receives ends when ctx ends, or when the lease is no longer trusted. [FromContext] returns the
// lease of that context, and the lease's token identifies the term. When its context ends, the function run should
// return at once. Another process may then lead, and this process is no candidate until run has returned.
//
// The function run ends its term by returning. If the lease was held until then, Lead releases the lease and returns
// the result of run. Return nil if the work is done, and an error if it failed. To lead for as long as possible, your
// function must return only after its context has ended. If the lease was lost, Lead ignores the result of run, because
// code whose context has ended can fail with many different errors. The next leader, which may be this process again,
// then does the work. If run panics, Lead releases the lease.
//
// Lead ends when ctx ends. If the process leads then, Lead returns the result of run. Otherwise it returns an
// error that matches ctx's error, and also an [ErrHeld] if another process leads.
//
// If the store or a guard's database is unreachable, Lead retries after a few seconds at most. A retry cannot fix some
// errors, such as a missing table or privilege. If the store reports such an error, and has neither granted nor refused
// name before, the set-up is wrong. Then Lead returns an [ErrUnavailable]. Three more errors end Lead: [ErrClosed], the
// error of a guard that cannot seal, and the error for an invalid option or name.
//
// The options are those of Acquire, but [Shared] is an error, because only one process leads. [Wait] has no effect: a
// candidate waits until ctx ends. [MaxHold] limits a term.
func Lead(ctx context.Context, locker *Locker, name string, run func(ctx context.Context, lease *Lease) error, opts ...Option) error {
	c := campaign{locker: locker, name: name, opts: append(slices.Clone(opts), asLeader)}
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
		backoff.Sleep(ctx, pause.Step()) // if ctx ends meanwhile, acquire returns the error of ctx
	}
}

// campaignPause is the delay after a lost term or a failed attempt to become leader. A failed attempt has already
// retried for one TTL.
var campaignPause = backoff.Backoff{Next: 100 * time.Millisecond, Most: 5 * time.Second}

func asLeader(s *settings) { s.wait, s.waitSet, s.leads = 0, false, true }

// campaign is the data of one call of Lead as a candidate.
type campaign struct {
	locker *Locker
	name   string
	opts   []Option
	heard  bool // true if the store has granted or refused the name at least once
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

// again reports whether another attempt to become leader may succeed after err.
func (c *campaign) again(err error) bool {
	if errors.Is(err, ErrLost) { // the lease was lost while the guard sealed
		return true
	}
	return errors.Is(err, ErrUnavailable) && (c.heard || !driver.IsPermanent(err))
}
