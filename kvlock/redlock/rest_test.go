package redlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redlock"
)

// refused sends a request of c as a waiter. The lock must be held, and the method returns the refusal.
func (c *candidate) refused(tb testing.TB) *driver.Held {
	tb.Helper()
	r := redistest.Request("job")
	r.Waiting = true
	_, err := c.Acquire(context.Background(), r)
	var held *driver.Held
	require.ErrorAs(tb, err, &held)
	c.Settle()
	return held
}

// began makes the present lease older or younger, at every node.
func (f *fleet) began(tb testing.TB, at time.Time) {
	tb.Helper()
	for _, c := range f.raw {
		require.NoError(tb, c.HSet(context.Background(), f.row("job"), "acquired_at", at.UnixMicro()).Err())
	}
}

// Promise 9 of docs/guarantees.md: a waiter polls seldom only if a release will notify it. A majority of the nodes must
// have listed it, and its connections to these nodes must receive notifications.
func TestAWaiterRestsWhileAMajorityWouldNotifyIt(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily)
	redistest.Acquire(t, holder, redistest.Request("job"))
	holder.Settle()
	f.began(t, time.Now().Add(-time.Hour))
	nodes := make([]*redis.Client, len(f.servers))
	for i, s := range f.servers {
		redistest.WithoutChannels(t, f.raw[i])
		require.NoError(t, f.raw[i].Do(t.Context(), "ACL", "SETUSER", "locks", "allchannels").Err())
		nodes[i], _ = redistest.AsLocks(t, s.Addr)
	}
	waiter := &candidate{Backend: redlock.New(nodes, steadily), woken: make(chan struct{}, 100)}
	t.Cleanup(func() { _ = waiter.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), redistest.AtMost)
	defer cancel()
	stop, err := waiter.Notify(ctx, driver.Key{Name: "job"}, func() { waiter.woken <- struct{}{} })
	require.NoError(t, err)
	t.Cleanup(stop)
	rests := func() bool { return waiter.refused(t).Listed }
	require.Eventually(t, rests, redistest.AtMost, time.Millisecond)
	for range 10 {
		assert.True(t, rests())
	}

	refuse := func(i int) {
		require.NoError(t, f.raw[i].Do(t.Context(), "ACL", "SETUSER", "locks", "resetchannels").Err()) // this also ends the connection that is subscribed
		waiter.called(t)
	}
	refuse(0)
	require.Eventually(t, rests, redistest.AtMost, time.Millisecond, "two of three nodes are a majority")
	refuse(1)
	for range 10 {
		assert.False(t, rests())
	}
}

// A node whose set of waiters is full does not list a further waiter, which then polls.
func TestAWaiterThatIsNotListedDoesNotRest(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily)
	redistest.Acquire(t, holder, redistest.Request("job"))
	holder.Settle()
	f.began(t, time.Now().Add(-time.Hour))
	waiter := row(t, f, 1)[0]
	waiters, member := waiter.Waiter(driver.Key{Name: "job"})
	require.Eventually(t, func() bool { return waiter.refused(t).Listed }, redistest.AtMost, time.Millisecond)
	for _, node := range f.raw {
		_, err := node.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			pipe.ZRem(t.Context(), waiters, member)
			for i := range 10_001 {
				pipe.ZAdd(t.Context(), waiters, redis.Z{Score: 0, Member: fmt.Sprint(i)})
			}
			return nil
		})
		require.NoError(t, err)
	}
	assert.False(t, waiter.refused(t).Listed)
	for _, node := range f.raw {
		require.NoError(t, node.ZRem(t.Context(), waiters, "0").Err())
	}
	require.Eventually(t, func() bool { return waiter.refused(t).Listed }, redistest.AtMost, time.Millisecond)
}

// A lease that has just begun may belong to an attempt that fails. The undo of such an attempt notifies nobody, so the
// waiter polls until the lease is older than an attempt can be.
func TestAWaiterDoesNotRestBehindAnAttempt(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily)
	redistest.Acquire(t, holder, redistest.Request("job"))
	holder.Settle()
	waiter := row(t, f, 1)[0]
	f.began(t, time.Now().Add(time.Hour))
	for range 10 {
		assert.False(t, waiter.refused(t).Listed)
	}
	f.began(t, time.Now().Add(-time.Hour))
	require.Eventually(t, func() bool { return waiter.refused(t).Listed }, redistest.AtMost, time.Millisecond)
}

// The polls of a waiter go to all nodes in turn, so that each node keeps its set of waiters.
func TestPollsKeepAWaiterListedAtEachNode(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily)
	redistest.Acquire(t, holder, redistest.Request("job"))
	holder.Settle()
	f.began(t, time.Now().Add(-time.Hour))
	waiter := row(t, f, 1)[0]
	waiters, _ := waiter.Waiter(driver.Key{Name: "job"})
	require.Eventually(t, func() bool { return waiter.refused(t).Listed }, redistest.AtMost, time.Millisecond)
	const most = 5 * time.Minute
	for _, node := range f.raw {
		require.True(t, node.PExpire(t.Context(), waiters, most/2).Val())
	}
	before := f.scripts(t)
	for range f.raw {
		require.True(t, waiter.refused(t).Listed)
	}
	assert.Equal(t, before+len(f.raw), f.scripts(t))
	for i, node := range f.raw {
		assert.Greater(t, node.PTTL(t.Context(), waiters).Val(), most/2, "node %d", i)
	}
}
