package redislock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// After the lockers are closed, no goroutine of theirs runs and no subscription is open, although the client is still
// open. In this test, the lockers have held locks and waited for locks before they are closed. The test does not run
// in parallel, so that it sees no goroutines of other tests. Requests to a server that hangs end when the client is
// closed, which TestMain checks.
func TestNothingRunsAfterClose(t *testing.T) {
	s := redistest.Start(t)
	direct := redistest.Connect(t, s.Addr)
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer c.Close()
	require.NoError(t, c.Ping(t.Context()).Err())
	before := goleak.IgnoreCurrent()

	holder, err := rowlock.New(redislock.New(c))
	require.NoError(t, err)
	waiter, err := rowlock.New(redislock.New(c))
	require.NoError(t, err)
	ended := make(chan error, 3)
	for _, name := range []string{"a", "b", "c"} {
		_, err := holder.Acquire(t.Context(), name)
		require.NoError(t, err)
		_, err = waiter.Acquire(t.Context(), "own "+name)
		require.NoError(t, err)
		go func() {
			_, err := waiter.Acquire(context.Background(), name)
			ended <- err
		}()
	}
	require.Eventually(t, func() bool {
		open := subscriptions(t, direct)
		return len(open) == 1 && strings.Contains(open[0], " sub=4 ")
	}, redistest.AtMost, time.Millisecond)
	require.NoError(t, waiter.Close())
	for range cap(ended) {
		assert.ErrorIs(t, <-ended, rowlock.ErrClosed)
	}
	require.NoError(t, holder.Close())
	for end := time.Now().Add(redistest.AtMost); ; { // Eventually cannot be used, because it runs a goroutine
		err := goleak.Find(before)
		if err == nil {
			break
		}
		require.True(t, time.Now().Before(end), "%v", err)
	}
	require.Eventually(t, func() bool { return len(subscriptions(t, direct)) == 0 }, redistest.AtMost, time.Millisecond)
}
