package rowlock

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// takes is where a takes leases. It takes none if the grant is to seal, and none while an earlier
// request may yet be granted: the store's answer would not tell one from the other.
func (p *place) takes(a *acquisition) chan *offer {
	if a.locker.handing == nil || a.doubt.requests > 0 || a.sealAs() != "" {
		return nil
	}
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	of := p.queues.byKey[p.key]
	if of.offers == nil {
		of.offers = make(chan *offer)
	}
	return of.offers
}

// follows says whether whoever stood before has just got the name, so that it is not to be had. Its release
// wakes or hands over; whatever else ends it is found by the poll.
func (p *place) follows(a *acquisition) bool {
	if p.ahead == 0 || a.held == nil || a.locker.handing == nil {
		return false
	}
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	return p.queues.byKey[p.key].passed
}

// rest pauses until d has passed, the waiter is woken or a lease is offered to it, and says whether ctx
// outlived it.
func (a *acquisition) rest(ctx context.Context, p *place, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.woken:
	case <-ctx.Done():
	case o := <-p.takes(a): // never, if nobody may offer
		if ctx.Err() != nil {
			o.ended <- errKept
			return false
		}
		a.offer = o // answered with the next request
		return true
	}
	return ctx.Err() == nil
}

// takeOver takes the lease that is offered, and tells its holder. Where there is nothing to take, or the backend
// cannot, it asks as usual.
func (a *acquisition) takeOver(ctx context.Context, r driver.Request) (driver.Grant, error) {
	o := a.offer
	a.offer = nil
	g, doubt, err := a.handOver(o, r)
	switch {
	case err == nil:
		a.burst = o.burst
		o.ended <- nil
	case doubt.requests > 0:
		a.doubt.requests, a.doubt.last = doubt.requests, doubt.last
		o.ended <- err
	case answered(err):
		o.ended <- errKept
	default: // the caller counts it among the doubts
		o.ended <- err
	}
	if errors.Is(err, driver.ErrNotHeld) || driver.IsPermanent(err) {
		return a.locker.backend.Acquire(ctx, r)
	}
	return g, err
}

// answered says whether the outcome of a hand-over is known.
func answered(err error) bool {
	var held *driver.Held
	return err == nil || errors.As(err, &held) || errors.Is(err, driver.ErrNotHeld) || driver.IsNotApplied(err)
}

// handOver asks the store for the lease that is offered, and again if a reply is missing. It lasts a little longer
// than the caller's ctx if need be: the release depends on it. The doubt is of what was asked before the last time.
func (a *acquisition) handOver(o *offer, r driver.Request) (g driver.Grant, before doubt, err error) {
	for {
		sent := a.locker.clock()
		g, err = a.askHandOver(o, r)
		if answered(err) || before.requests > 0 || a.ctx.Err() != nil || !sleep(o.ctx, jitter(10*time.Millisecond)) {
			return g, before, err
		}
		before.requests, before.last = 1, sent
		a.attempts++
	}
}

// askHandOver makes one attempt, short enough to leave time for another and for a release.
func (a *acquisition) askHandOver(o *offer, r driver.Request) (driver.Grant, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), callTimeout(o.from.TTL)/3)
	defer cancel()
	defer context.AfterFunc(o.ctx, cancel)()
	return a.locker.handing.HandOver(ctx, o.from, r)
}
