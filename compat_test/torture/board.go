//go:build linux

package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// reader acquires the lock named board with rowlock.Shared. It holds the lock for so long that the board almost always
// has a reader.
func (w *worker) reader(ctx context.Context, r *rand.Rand) {
	limit := rowlock.Wait(relayWait)
	if r.IntN(4) == 0 {
		limit = rowlock.Wait(0)
	}
	h, ok := w.acquire(ctx, w.locker.Acquire, history.Board, limit, rowlock.Shared())
	if !ok {
		return
	}
	defer h.release()
	long := w.TTL / 5
	if r.IntN(20) == 0 {
		long = 2 * w.TTL
	}
	for begin, hold := time.Now(), time.Duration(r.Int64N(int64(long))); h.look() && time.Since(begin) < hold; {
		time.Sleep(min(hold, w.TTL/20))
	}
}

// writer acquires the board exclusively. The writer must be served although readers keep coming.
func (w *worker) writer(ctx context.Context, r *rand.Rand) {
	h, ok := w.acquire(ctx, w.locker.Acquire, history.Board, rowlock.Wait(relayWait))
	if !ok {
		return
	}
	defer h.release()
	h.look()
	time.Sleep(time.Duration(r.Int64N(int64(w.TTL / 20))))
	h.look()
}
