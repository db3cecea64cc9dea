package rowlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/rowlock/rowlock/internal/crew"
)

// mostNames limits the names of one call, because a call that waits sends requests for each name.
const mostNames = 64

// Slots returns n names for [Locker.AcquireAny], so that at most n holders work at a time. Slots("gpu", 2) returns
// "gpu/0" and "gpu/1". A slot is an ordinary name. To lower n, use fewer names: current holders keep the other slots
// until they release them.
func Slots(name string, n int) []string {
	names := make([]string, max(n, 0))
	for i := range names {
		names[i] = name + "/" + strconv.Itoa(i)
	}
	return names
}

// AcquireAny acquires one of names, and waits while all of them are held. The lease is an ordinary lease,
// and [Lease.Name] returns its name. With the names of Slots(name, n), at most n holders work at a time.
// AcquireAny takes from 1 to 64 different names.
//
// AcquireAny tries each name once, starting with a random one. If all are held, it waits for all of them at the same
// time, and keeps the first grant. If other callers of this Locker already wait for each of the names, AcquireAny
// waits behind them without trying. In rare cases the store grants two names at the same time. Then AcquireAny
// releases the second name before it returns.
//
// The options, ctx and the errors are those of [Locker.Acquire]. An [ErrHeld] has the [*HeldError] of one of the names.
// The event AcquireFailed is reported once for the call, and the other events once for each name.
func (l *Locker) AcquireAny(ctx context.Context, names []string, opts ...Option) (*Lease, error) {
	if len(names) == 1 {
		return l.Acquire(ctx, names[0], opts...)
	}
	c := &contest{locker: l, ctx: ctx, names: names, opts: opts, started: time.Now()}
	winner, err := c.run()
	if err != nil {
		return nil, err
	}
	return winner.run(func() (*Lease, error) { return winner.lease, nil })
}

// checkNames returns an error if names is empty, too long, or has a name twice.
func checkNames(which string, names []string) error {
	if len(names) == 0 || len(names) > mostNames {
		return fmt.Errorf("rowlock: acquire %s of %d names: must be 1 to %d", which, len(names), mostNames)
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("rowlock: acquire %s of %d names: %s is given twice", which, len(names), excerpt(name))
		}
	}
	return nil
}

// outweighs reports whether a call with several names returns the error err of one name rather than the error other of
// another. A refusal is returned only if there is no other failure.
func outweighs(err, other error) bool {
	return err != nil && (other == nil || errors.Is(other, ErrHeld) && !errors.Is(err, ErrHeld))
}

// abandon releases the leases of a call that returns none of them to its caller.
func abandon(ctx context.Context, all []*acquisition) {
	var granted []*Lease
	for _, a := range all {
		if a.lease != nil {
			a.lease.never()
			granted = append(granted, a.lease)
		}
	}
	releaseAll(ctx, granted)
}

// DoAny acquires one of names as [Locker.AcquireAny] does, runs fn as [Locker.Do] does, and releases the lease.
func (l *Locker) DoAny(ctx context.Context, names []string, fn func(ctx context.Context, lease *Lease) error, opts ...Option) error {
	lease, err := l.AcquireAny(ctx, names, opts...)
	if err != nil {
		return err
	}
	return lease.run(ctx, fn)
}

// contest is one call of AcquireAny. It has an acquisition for each name, and the first acquisition that is granted keeps its
// grant.
type contest struct {
	locker  *Locker
	ctx     context.Context // the context that the caller gave
	names   []string
	opts    []Option
	started time.Time
	all     []*acquisition // one for each name; nil before the first attempt
}

// run returns the acquisition that was granted.
func (c *contest) run() (*acquisition, error) {
	if err := checkNames("any", c.names); err != nil {
		return nil, err
	}
	returned := false
	defer func() {
		if !returned { // a function of a Trace panicked
			abandon(c.ctx, c.all)
		}
	}()
	winner, err := c.winner()
	returned = true
	if err != nil {
		return nil, err
	}
	winner.ctx = c.ctx
	return winner, nil
}

// winner tries all names, and then waits for all of them.
func (c *contest) winner() (*acquisition, error) {
	err := c.enter(c.ctx)
	if err != nil {
		return nil, err
	}
	first := c.all[0]
	var winner *acquisition
	follows := c.follows()
	if !follows {
		winner, err = c.try()
	}
	if winner == nil && (follows || first.mayWaitAfter(err)) {
		first.count(c.all)
		winner, err = c.race()
	}
	if winner == nil {
		first.count(c.all)
		err = c.failure(err)
		first.failed(err)
	}
	return winner, err
}

// enter makes an acquisition for each name, in the order of the list, starting with a random name. After an error,
// there is no acquisition.
func (c *contest) enter(ctx context.Context) error {
	c.all = nil
	all, first := make([]*acquisition, 0, len(c.names)), rand.N(len(c.names))
	for i := range c.names {
		a, err := c.locker.newAcquisition(ctx, c.names[(first+i)%len(c.names)], c.opts)
		if err != nil {
			return err
		}
		a.started = c.started
		all = append(all, a)
	}
	c.all = all
	return nil
}

// follows reports whether the call may wait without an attempt, because other callers of this process already wait for
// each of the names.
func (c *contest) follows() bool {
	for _, a := range c.all {
		if a.cfg.waitSet && a.cfg.wait == 0 || !c.locker.queues.has(a.key) {
			return false
		}
	}
	return true
}

// try makes one attempt for each name in turn. It stops when a name is granted, or when an attempt fails with an
// error other than [ErrHeld].
func (c *contest) try() (*acquisition, error) {
	var err error
	for _, a := range c.all {
		if _, err = a.try(); err == nil {
			return a, nil
		}
		if !errors.Is(err, ErrHeld) {
			break
		}
	}
	return nil, err
}

// race waits for all names at the same time. It returns after the other acquisitions have withdrawn their recorded
// requests. The field all is nil if no acquisition could begin.
func (c *contest) race() (*acquisition, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	errs := make([]error, len(c.all))
	crew.Together(len(c.all), func(i int) {
		if _, errs[i] = c.all[i].wait(); errs[i] == nil {
			cancel()
		}
	}, cancel)
	var err error
	for i, a := range c.all {
		switch {
		case errs[i] == nil:
			abandon(ctx, c.all[i+1:]) // the store may have granted two names at the same time
			return a, nil
		case outweighs(errs[i], err):
			err = errs[i]
		}
	}
	return nil, err
}

// failure returns the error of the call. The parameter err is the error of one name.
func (c *contest) failure(err error) error {
	if n := len(c.names); n > 1 && errors.Is(err, ErrHeld) {
		return fmt.Errorf("%w; none of the %d names was free", err, n)
	}
	return err
}
