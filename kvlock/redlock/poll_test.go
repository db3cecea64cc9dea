package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
)

// scripts returns how many scripts the nodes have run.
func (f *fleet) scripts(tb testing.TB) (n int) {
	tb.Helper()
	for _, c := range f.raw {
		for line := range strings.Lines(c.Info(context.Background(), "commandstats").Val()) {
			var calls int
			if _, err := fmt.Sscanf(line, "cmdstat_evalsha:calls=%d", &calls); err == nil {
				n += calls
			}
		}
	}
	return n
}

// After all nodes have refused a waiter, it polls one node. After a notification it sends a request to all nodes.
func TestAPollAsksOneNode(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily)
	g := redistest.Acquire(t, holder, redistest.Request("job"))
	holder.Settle()
	waiter := row(t, f, 1)[0]
	r := redistest.Request("job")
	r.Waiting = true
	ask := func() (requests int, err error) {
		before := f.scripts(t)
		_, err = waiter.Acquire(t.Context(), r)
		waiter.Settle()
		return f.scripts(t) - before, err
	}
	var held *driver.Held
	_, err := ask() // this request goes to all nodes, because a subscription was confirmed after the first request
	require.ErrorAs(t, err, &held)
	for polls := 0; polls < 10; {
		requests, err := ask()
		require.ErrorAs(t, err, &held)
		select {
		case <-waiter.woken: // the last node has confirmed the subscription, so this request or the next goes to all nodes
			_, err = ask()
			require.ErrorAs(t, err, &held)
			continue
		default:
		}
		assert.Equal(t, 1, requests)
		assert.Equal(t, "test", held.Holder)
		polls++
	}
	require.NoError(t, holder.Release(t.Context(), g))
	holder.Settle()
	waiter.called(t)
	requests, err := ask()
	require.NoError(t, err)
	assert.Equal(t, 3, requests)
}

// A poll may ask a node that has a lease which the other nodes do not have. The next polls ask other nodes, so the
// waiter is granted the lock.
func TestAPollIsNotStoppedByOneNode(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily)
	redistest.Acquire(t, holder, redistest.Request("job"))
	holder.Settle()
	waiter := row(t, f, 1)[0]
	r := redistest.Request("job")
	r.Waiting = true
	var held *driver.Held
	_, err := waiter.Acquire(t.Context(), r)
	require.ErrorAs(t, err, &held)
	for _, i := range []int{1, 2} {
		require.NoError(t, f.raw[i].Del(t.Context(), "redlock::job").Err())
	}
	require.Eventually(t, func() bool {
		_, err := waiter.Acquire(t.Context(), r)
		return err == nil
	}, redistest.AtMost, time.Millisecond)
}

// Each of few waiters polls often. Of many waiters, most poll seldom.
func TestMostOfManyWaitersPollSeldom(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily)
	redistest.Acquire(t, holder, redistest.Request("job"))
	holder.Settle()
	f.ages(t)
	seldom := func() (n int) {
		for _, c := range row(t, f, 5) {
			if c.refused(t).Listed {
				n++
			}
			c.stop()
			c.Settle()
		}
		return n
	}
	assert.Zero(t, seldom())
	waiters, _ := holder.Waiter(driver.Key{Name: "job"})
	others := make([]redis.Z, 1000)
	for i := range others {
		others[i].Member = i
	}
	for _, node := range f.raw {
		require.NoError(t, node.ZAdd(t.Context(), waiters, others...).Err())
	}
	assert.Positive(t, seldom())
}

// Promise 9 of docs/guarantees.md: if the lock becomes free and nobody is notified, one of the waiters soon notices it.
// Each waiter that polls seldom would notice it after 12 seconds at the earliest.
func TestManyWaitersNoticeWhatNobodyIsToldOf(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily, forLong)
	held := redistest.Request("job")
	held.TTL = 5 * time.Minute // the waiters also poll when the lease expires
	redistest.Acquire(t, holder, held)
	holder.Settle()
	f.ages(t)
	const waiting = 7 // in 1 of 6,000 runs none of them draws a lot with which it polls often
	ctx, cancel := context.WithCancel(t.Context())
	granted := make(chan struct{}, waiting)
	for range waiting {
		b, _ := f.client(t, steadily, forLong)
		locker, err := rowlock.New(b)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, locker.Close()) })
		go func() {
			if _, err := locker.Acquire(ctx, "job"); err == nil {
				granted <- struct{}{}
			}
		}()
	}
	t.Cleanup(cancel)
	waiters, _ := holder.Waiter(driver.Key{Name: "job"})
	for _, node := range f.raw {
		require.Eventually(t, func() bool { return node.ZCard(t.Context(), waiters).Val() == waiting }, redistest.AtMost, time.Millisecond)
	}
	for _, node := range f.raw { // does the same as the undo of an attempt
		require.NoError(t, node.HSet(t.Context(), f.row("job"), "nonce", "", "held_until", "0").Err())
	}
	freed := time.Now()
	select {
	case <-granted:
		assert.Less(t, time.Since(freed), 10*time.Second)
	case <-time.After(redistest.AtMost):
		require.FailNow(t, "nobody noticed that the lock is free")
	}
}

// ages makes the lease of "job" an old one, which cannot belong to an attempt that fails.
func (f *fleet) ages(tb testing.TB) {
	tb.Helper()
	for _, node := range f.raw {
		require.NoError(tb, node.HSet(context.Background(), f.row("job"), "acquired_at", time.Now().Add(-time.Hour).UnixMicro()).Err())
	}
}
