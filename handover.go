package rowlock

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/clock"
)

// These constants limit a series of hand-overs. During a series the name never becomes free, so no other process can
// acquire it. With a larger mostHanded, waiters of other processes would wait longer when holds are short, and few
// requests would be saved. With a smaller mostHanded, the requests that begin and end a series would be more frequent.
// longestSeries limits a series of long holds, where one more request does not matter.
const (
	longestSeries = 100 * time.Millisecond
	mostHanded    = 16
)

// series counts the successive hand-overs that led to a lease. A lease that was requested from the store begins a
// series.
type series struct {
	began  clock.Instant // when the first lease of the series was requested from the store
	handed int
}

// successor is the first waiter for a name, in the time between two of its requests. A release may take the waiter. It
// then tries to hand the name over, and sends the waiter the result.
type successor struct {
	request driver.Request
	result  chan handOver // has capacity for one
}

// handOver is the result of a hand-over.
type handOver struct {
	grant    driver.Grant
	series   series        // the series that the grant is part of
	requests int           // requests sent
	first    clock.Instant // just before the first request was sent
	sent     clock.Instant // just before the last request was sent
	err      error         // nil if the name was granted to the waiter
	unknown  int           // requests without a reply
}

// answered reports whether the outcome of a hand-over is known.
func answered(err error) bool {
	var held *driver.Held
	return err == nil || errors.As(err, &held) || errors.Is(err, driver.ErrNotHeld) || driver.IsNotApplied(err)
}

// mayHandOver reports whether a hand-over within this process is allowed.
func (le *Lease) mayHandOver(now clock.Instant) bool {
	return le.locker.handing != nil && !le.grant.Shared && le.cfg.tick == "" && le.locker.closing.Err() == nil &&
		le.series.handed < mostHanded && now.Since(le.series.began) < longestSeries &&
		(le.grant.MinHold == 0 || now.Since(le.granted) > le.grant.MinHold)
}

// handOverOrRelease hands the lease over to the first waiter of this process, or releases it. The result handed reports
// whether the lease was handed over.
func (r *release) handOverOrRelease(ctx context.Context) (handed bool, err error) {
	if r.first == nil {
		return false, nil
	}
	le := r.lease
	ctx, cancel := le.limited(ctx, callTimeout(le.grant.TTL)) // one limit for all requests of this release
	defer cancel()
	if r.to == nil {
		return false, le.releaseInStore(ctx, r.first, false)
	}
	returned := false
	defer func() {
		if !returned { // the backend panicked, and the lease has no holder
			_ = le.releaseInStore(ctx, le.askRelease, true)
			le.locker.queues.wake(le.grant.Key)
		}
	}()
	h := le.handOver(ctx, r.to)
	returned = true
	if h.err == nil {
		return true, nil
	}
	return false, le.releaseInStore(ctx, le.askRelease, h.unknown > 0)
}

// handOver ends the lease and grants its name to a waiter in one request. It repeats the request once if the
// reply is missing. It always sends the result to the waiter, even if the backend panics.
func (le *Lease) handOver(ctx context.Context, to *successor) (h handOver) {
	h = handOver{series: le.series, first: le.locker.clock(), err: errNoOutcome}
	defer func() { to.result <- h }()
	h.series.handed++
	for {
		h.requests++
		h.sent = le.locker.clock()
		h.unknown++
		h.grant, h.err = le.askHandOver(ctx, to.request)
		if answered(h.err) {
			h.unknown--
			return h
		}
		if h.requests == 2 || !backoff.Sleep(ctx, backoff.Jitter(10*time.Millisecond)) {
			return h
		}
	}
}

// askHandOver makes one attempt to hand the lease over. Its timeout leaves time for a second attempt and for a
// release.
func (le *Lease) askHandOver(ctx context.Context, r driver.Request) (driver.Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout(le.grant.TTL)/3)
	defer cancel()
	return le.locker.handing.HandOver(ctx, le.grant, r)
}
