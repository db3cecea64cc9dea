//go:build linux

package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rowlock/rowlock"
)

// churn acquires and releases a lock. Sometimes it cancels the acquire before the answer,
// and sometimes it holds the lock for several renewals.
func (w *worker) churn(ctx context.Context, r *rand.Rand, name string, usual tempo) {
	ask := w.locker.TryAcquire
	if r.IntN(2) == 0 {
		ask = w.locker.Acquire
	}
	if r.IntN(10*usual.seldom) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.Int64N(int64(w.TTL/100))))
		defer cancel()
	}
	h, ok := w.acquire(ctx, ask, name, rowlock.Wait(w.TTL))
	if !ok {
		return
	}
	defer h.release()
	long := usual.hold
	if r.IntN(20*usual.seldom) == 0 {
		long = 2 * w.TTL
	}
	for begin, hold := time.Now(), time.Duration(r.Int64N(int64(long))); ; {
		if !h.look() || time.Since(begin) >= hold {
			return
		}
		time.Sleep(min(hold, w.TTL/20))
	}
}

// relayWait is how long a waiter waits for the lock named relay. The checker has a limit for this wait, even for a
// waiter that was suspended during a release. relayWait is longer than that limit. So a waiter that exceeds the limit
// is still waiting, and the checker sees it.
const relayWait = 30 * time.Second

// relay competes with all other workers for one name, and releases the name after each grant.
func (w *worker) relay(ctx context.Context, r *rand.Rand) {
	h, ok := w.acquire(ctx, w.locker.Acquire, relayName, rowlock.Wait(relayWait))
	if !ok {
		return
	}
	defer h.release()
	h.look()
	time.Sleep(time.Duration(r.Int64N(int64(w.TTL / 50))))
	h.look()
}
