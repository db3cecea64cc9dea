package redlock_test

import (
	"context"
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

// candidate is one who waits for the name "job" at a fleet, with a backend as of a process of its own.
type candidate struct {
	*redlock.Backend
	woken chan struct{}
	stop  func()
}

// row is so many candidates, in the order in which they came.
func row(tb testing.TB, f *fleet, n int) (all []*candidate) {
	tb.Helper()
	for range n {
		c := &candidate{woken: make(chan struct{}, 100)}
		c.Backend, _ = f.client(tb, steadily)
		ctx, cancel := context.WithTimeout(context.Background(), redistest.AtMost)
		stop, err := c.Notify(ctx, driver.Key{Name: "job"}, func() { c.woken <- struct{}{} })
		cancel()
		require.NoError(tb, err)
		tb.Cleanup(stop)
		c.stop = stop
		r := redistest.Request("job")
		r.Waiting = true
		_, err = c.Acquire(context.Background(), r)
		var held *driver.Held
		require.ErrorAs(tb, err, &held)
		c.Settle()
		all = append(all, c)
	}
	for _, c := range all {
		for range f.servers { // a subscription wakes, too
			c.called(tb)
		}
	}
	return all
}

func (c *candidate) called(tb testing.TB) {
	tb.Helper()
	select {
	case <-c.woken:
	case <-time.After(redistest.AtMost):
		require.FailNow(tb, "was not called")
	}
}

// take is the request of one who was called.
func (c *candidate) take(tb testing.TB) driver.Grant {
	tb.Helper()
	r := redistest.Request("job")
	r.Waiting = true
	g, err := c.Acquire(context.Background(), r)
	require.NoError(tb, err)
	c.Settle()
	return g
}

// Promise 9: a release calls the one that has waited longest, and nobody else; if he has given up since, the next one.
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
	all[1].stop() // it was called, and does not come
	all[2].called(t)
	g = all[2].take(t)
	all[2].stop()
	assert.Empty(t, all[3].woken, "it was nobody's turn before")
	release(all[2].Backend)
	all[3].called(t)
}

// Promise 9: of eight processes that want one name again and again the least served gets half of its share or more.
func TestNobodyStarves(t *testing.T) {
	f := newFleet(t, 3)
	served, requests := redistest.Contest(t, func() driver.Backend {
		b, _ := f.client(t, steadily)
		return b
	}, f.raw, 8, 1, 400)
	t.Logf("served %v, %.1f requests for each", served, requests)
	total := 0
	for _, n := range served {
		total += n
	}
	assert.GreaterOrEqual(t, slices.Min(served), total/len(served)/2)
}

// The queue of a node has room for more than a hundred processes.
func TestQueueHasRoom(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily)
	g := redistest.Acquire(t, holder, redistest.Request("job"))
	holder.Settle()
	all := row(t, f, 105)
	last := all[len(all)-1]
	waiters, member := last.Waiter(driver.Key{Name: "job"})
	for i, node := range f.raw {
		rank, err := node.ZRank(t.Context(), waiters, member).Result()
		require.NoError(t, err, "node %d", i)
		assert.Equal(t, int64(len(all)-1), rank, "node %d", i)
	}
	r := redistest.Request("job") // a waiter that has not asked for three seconds is taken for dead, and the row may have taken longer
	r.Waiting = true
	_, err := all[0].Acquire(t.Context(), r)
	var held *driver.Held
	require.ErrorAs(t, err, &held)
	all[0].Settle()
	require.NoError(t, holder.Release(t.Context(), g))
	all[0].called(t)
}

// A release walks past a hundred waiters that have died, at most, so that it never keeps a node from others for long. Who waits behind
// them is called by the next one.
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

// A waiter that has given up before its request is sent is listed nowhere.
func TestWhoHasGivenUpIsNotListed(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily)
	redistest.Acquire(t, holder, redistest.Request("job"))
	holder.Settle()
	c := row(t, f, 1)[0]
	waiters, _ := c.Waiter(driver.Key{Name: "job"})
	c.stop()
	c.Settle()
	r := redistest.Request("job")
	r.Waiting = true
	_, err := c.Acquire(t.Context(), r)
	var held *driver.Held
	require.ErrorAs(t, err, &held)
	c.Settle()
	for i, node := range f.raw {
		n, err := node.ZCard(t.Context(), waiters).Result()
		require.NoError(t, err)
		assert.Zero(t, n, "node %d", i)
	}
}
