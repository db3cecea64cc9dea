package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// Promise 5 of docs/guarantees.md: after Acquire has returned an error, or Close has returned, no release reserves the
// lock for the waiter that gave up. So a third process can acquire the lock at once.
func TestAWaiterThatGaveUpIsKeptNothing(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	locker := func() *rowlock.Locker {
		l, err := rowlock.New(redislock.New(redistest.Connect(t, s.Addr)))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, l.Close()) })
		return l
	}
	holder, third, raw := locker(), locker(), redistest.Connect(t, s.Addr)
	for i := range 40 {
		lease, err := holder.TryAcquire(t.Context(), "job")
		require.NoError(t, err)
		waiter := locker()
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := waiter.Acquire(ctx, "job")
			failed <- err
		}()
		require.Eventually(t, func() bool { return queued(t, raw) == 1 }, redistest.AtMost, time.Millisecond)
		began := time.Now()
		if i%2 == 0 {
			cancel()
		} else {
			require.NoError(t, waiter.Close())
		}
		require.Error(t, <-failed)
		acquire := third.TryAcquire
		if time.Since(began) > time.Second { // too slow: a waiter that gives up waits for its withdrawal for a second at most
			acquire = third.Acquire
		}
		require.NoError(t, lease.Release(t.Context()))
		lease, err = acquire(t.Context(), "job")
		cancel()
		require.NoError(t, err, "reserved for a waiter that has given up")
		require.NoError(t, lease.Release(t.Context()))
	}
}
