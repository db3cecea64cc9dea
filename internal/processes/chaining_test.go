//go:build unix

package processes_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
)

// chainName returns the name of the lock of a chain.
func chainName(id int) string { return fmt.Sprint("chain-", id) }

// extend acquires the lock and uses it. It never checks whether the lease is still valid.
func (w worker) extend(ctx context.Context, locker *rowlock.Locker) {
	lease, err := locker.Acquire(ctx, chainName(w.name()))
	if err != nil {
		if ctx.Err() == nil {
			w.tell(event{What: refusal(err), Detail: err.Error()})
		}
		return
	}
	defer func() {
		_ = lease.Release(ctx)
		w.tell(event{What: released, Token: lease.Token()})
	}()
	w.use(lease)
}

// use reads the end of the chain once and writes a few times.
func (w worker) use(lease *rowlock.Lease) {
	w.tell(event{What: granted, Token: lease.Token()})
	h := &holding{worker: w, lease: lease}
	if !h.attempt(h.read) {
		return
	}
	for range 1 + rand.IntN(4) {
		w.tell(event{What: ready, Token: lease.Token(), Last: h.last})
		think()
		if !h.attempt(h.write) {
			return
		}
		w.tell(event{What: wrote, Token: lease.Token(), Last: h.last})
	}
}

// think sleeps, to simulate work between read and write.
func think() {
	longest := 10 * time.Millisecond
	if rand.IntN(4) == 0 {
		longest = 100 * time.Millisecond
	}
	time.Sleep(rand.N(longest))
}

// refusal returns the word of the event that reports this error of Acquire.
func refusal(err error) string {
	switch {
	case errors.Is(err, rowlock.ErrUnavailable):
		return unavailable
	case errors.Is(err, fence.ErrStale), errors.Is(err, fence.ErrRetry), errors.Is(err, rowlock.ErrLost):
		return unsealed
	default:
		return failed
	}
}

// outcome returns the word of the event that reports this error of a transaction.
func outcome(err error) string {
	switch {
	case errors.Is(err, fence.ErrStale):
		return stale
	case errors.Is(err, rowlock.ErrLost):
		return lost
	case errors.Is(err, fence.ErrRetry):
		return undone
	default:
		return broken
	}
}
