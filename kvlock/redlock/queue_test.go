package redlock_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redlock"
)

// Promise 9 of docs/guarantees.md: a release notifies only the process that has waited longest. If this process gives
// up, the next process is notified.
func TestReleaseCallsWhoHasWaitedLongest(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily)
	g := redistest.Acquire(t, holder, redistest.Request("job"))
	holder.Settle()
	all := row(t, f, 4)
	release := func(b *redlock.Backend) {
		require.NoError(t, b.Release(t.Context(), g))
		b.Settle()
	}
	release(holder)
	all[0].called(t)
	g = all[0].take(t)
	all[0].stop()
	release(all[0].Backend)
	all[1].called(t)
	all[1].stop() // this waiter was notified, and gives up without a request
	all[2].called(t)
	g = all[2].take(t)
	all[2].stop()
	assert.Empty(t, all[3].woken, "the last waiter was notified too early")
	release(all[2].Backend)
	all[3].called(t)
}

// A waiter is notified, but its request meets an attempt of another client, so the nodes add it to the set again. If the
// attempt fails, its undo notifies nobody. If the waiter then gives up, the next waiter is notified.
func TestAWaiterThatGivesUpWhileTheLockIsFreeCallsTheNext(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily)
	redistest.Acquire(t, holder, redistest.Request("job"))
	holder.Settle()
	all := row(t, f, 2)
	for _, node := range f.raw { // does the same as the undo of an attempt
		require.NoError(t, node.HSet(t.Context(), string(redlock.DefaultPrefix)+":job", "nonce", "", "held_until", "0").Err())
	}
	assert.Empty(t, all[1].woken)
	all[0].stop()
	all[1].called(t)
}

// Promise 9 of docs/guarantees.md: eight processes acquire and release one name repeatedly, and each is granted at
// least half of its fair share.
func TestNobodyStarves(t *testing.T) {
	f := newFleet(t, 3)
	served, requests := redistest.Contest(t, func() driver.Backend {
		b, _ := f.client(t, steadily)
		return b
	}, f.raw, 8, 1, 400)
	t.Logf("served %v, %.1f requests per lease", served, requests)
	total := 0
	for _, n := range served {
		total += n
	}
	assert.GreaterOrEqual(t, slices.Min(served), total/len(served)/2)
}

// More than a hundred processes can be in the set of waiters of a node.
func TestQueueHasRoom(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily, forLong)
	held := redistest.Request("job")
	held.TTL = 5 * time.Minute // the lease must not expire while the row is built
	g := redistest.Acquire(t, holder, held)
	holder.Settle()
	first := row(t, f, 1)[0]
	waiters, member := first.Waiter(driver.Key{Name: "job"})
	const between = 103
	for _, node := range f.raw { // adds waiters that began to wait after the first one
		since, err := node.ZScore(t.Context(), waiters, member).Result()
		require.NoError(t, err)
		for i := range between {
			require.NoError(t, node.ZAdd(t.Context(), waiters, redis.Z{Score: since + 1, Member: fmt.Sprintf("between-%03d", i)}).Err())
		}
	}
	last := row(t, f, 1)[0]
	waiters, member = last.Waiter(driver.Key{Name: "job"})
	for i, node := range f.raw {
		rank, err := node.ZRank(t.Context(), waiters, member).Result()
		require.NoError(t, err, "node %d", i)
		assert.Equal(t, int64(1+between), rank, "node %d", i)
	}
	require.NoError(t, holder.Release(t.Context(), g))
	first.called(t)
}

// A release skips at most a hundred dead waiters, so that it does not block a node for long. The next release notifies
// the waiters behind them.
func TestAReleaseWalksPastAHundredDead(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily)
	g := redistest.Acquire(t, holder, redistest.Request("job"))
	holder.Settle()
	alive := row(t, f, 1)[0]
	waiters, _ := alive.Waiter(driver.Key{Name: "job"})
	for _, node := range f.raw {
		for i := range 150 {
			require.NoError(t, node.ZAdd(t.Context(), waiters, redis.Z{Score: float64(i), Member: fmt.Sprintf("dead-%03d", i)}).Err())
		}
	}
	for _, left := range []int64{51, 0} {
		require.NoError(t, holder.Release(t.Context(), g))
		holder.Settle()
		for i, node := range f.raw {
			n, err := node.ZCard(t.Context(), waiters).Result()
			require.NoError(t, err)
			assert.Equal(t, left, n, "node %d", i)
		}
		if left > 0 {
			g = redistest.Acquire(t, holder, redistest.Request("job"))
			holder.Settle()
		}
	}
	alive.called(t)
}

// If a waiter gives up before its request is sent, no node adds it to the set of waiters.
func TestAWaiterThatHasGivenUpIsNotListed(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily)
	redistest.Acquire(t, holder, redistest.Request("job"))
	holder.Settle()
	c := row(t, f, 1)[0]
	waiters, _ := c.Waiter(driver.Key{Name: "job"})
	c.stop()
	c.Settle()
	c.refused(t)
	c.Settle()
	for i, node := range f.raw {
		n, err := node.ZCard(t.Context(), waiters).Result()
		require.NoError(t, err)
		assert.Zero(t, n, "node %d", i)
	}
}
