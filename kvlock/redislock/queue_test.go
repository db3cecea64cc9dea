package redislock_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// Promise 9 of docs/guarantees.md, on one server, with replicas and on a Cluster: a release notifies only the process
// that has waited longest, and reserves the name for that process. Before it acquires the name, neither the releasing
// process nor a later waiter is granted the name. No waiter polls in this test.
func testReleaseCalls(t *testing.T, open func() redis.UniversalClient, opts ...redislock.Option) {
	holder := redislock.New(open(), opts...)
	g := redistest.Acquire(t, holder, redistest.Request("job"))
	all := line(t, 3, open, opts...)
	release := func(b *redislock.Backend) {
		require.NoError(t, b.Release(t.Context(), g))
		stretch(t, all[0].client)
	}
	release(holder)
	for i, p := range all {
		p.called(t)
		held := refused(t, holder)
		assert.Equal(t, driver.Reserved, held.Reason)
		for _, later := range all[i+1:] {
			assert.Equal(t, driver.Reserved, later.ask(t).Reason)
		}
		if i == 0 { // the second waiter may be woken, because stretch makes the reservation longer than usual
			assert.Empty(t, all[2].woken, "a later waiter was notified")
		}
		before := g
		g = p.take(t)
		assert.Greater(t, g.Token, before.Token)
		p.stop()
		if i < 2 {
			release(p.Backend)
		}
	}
	require.NoError(t, all[2].Release(t.Context(), g))
	require.NoError(t, holder.Release(t.Context(), redistest.Acquire(t, holder, redistest.Request("job"))), "the lock is no longer reserved")
}

func TestAReleaseCallsWhoHasWaitedLongest(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	testReleaseCalls(t, opener(t, primary.Addr))
	host, port, err := net.SplitHostPort(primary.Addr)
	require.NoError(t, err)
	redistest.Start(t, "--replicaof", host+" "+port)
	awaitReplica(t, redistest.Connect(t, primary.Addr))
	testReleaseCalls(t, opener(t, primary.Addr), redislock.Replicated(1, 2*time.Second))
}

// A waiter whose connection has ended is not notified, so a killed waiter does not delay the others. A waiter whose
// request has been due for three seconds is not notified either.
func TestADeadWaiterIsPassedOver(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t).Addr
	open := opener(t, addr)
	holder := redislock.New(open())
	g := redistest.Acquire(t, holder, redistest.Request("job"))
	all := line(t, 3, open)
	admin := redistest.Connect(t, addr)
	require.NoError(t, all[0].client.Close())
	require.Eventually(t, func() bool { return len(subscriptions(t, admin)) == 2 }, redistest.AtMost, time.Millisecond)
	shiftLife(t, admin, all[1].Waiter(), -25*time.Second)
	require.NoError(t, holder.Release(t.Context(), g))
	all[2].called(t)
	stretch(t, admin)
	assert.Empty(t, all[1].woken)
	g = all[2].take(t)
	assert.Zero(t, queued(t, admin), "both dead waiters were removed from the queue")
	require.NoError(t, all[2].Release(t.Context(), g))

	g = redistest.Acquire(t, holder, redistest.Request("job"))
	for _, p := range all[1:] {
		p.ask(t)
		shiftLife(t, admin, p.Waiter(), -25*time.Second)
	}
	require.NoError(t, holder.Release(t.Context(), g))
	assert.Zero(t, queued(t, admin), "both dead waiters were removed from the queue")
	require.NoError(t, holder.Release(t.Context(), redistest.Acquire(t, holder, redistest.Request("job"))))
}

// A notified waiter may not acquire the lock, for example because its process is suspended. It then delays the other
// waiters once, by the 50 ms of its reservation. The next release notifies the next waiter. On a Cluster, a killed
// waiter causes the same delay.
func testReservationEnds(t *testing.T, open func() redis.UniversalClient, disturb func(first *person)) {
	holder := redislock.New(open())
	g := redistest.Acquire(t, holder, redistest.Request("job"))
	all := line(t, 3, open)
	disturb(all[0])
	require.NoError(t, holder.Release(t.Context(), g))
	assert.NotEmpty(t, all[1].client.HGet(t.Context(), job, "reserved_for").Val())
	r := redistest.Request("job")
	r.Waiting = true
	require.Eventually(t, func() bool { // waits until the reservation of the suspended waiter has expired
		var err error
		g, err = all[2].Acquire(context.Background(), r)
		return err == nil
	}, redistest.AtMost, time.Millisecond)
	require.NoError(t, all[2].Release(t.Context(), g))
	all[1].called(t)
	stretch(t, all[1].client)
	g = all[1].take(t)
	all[1].stop()
	require.NoError(t, all[1].Release(t.Context(), g))
}

// If the first waiter does not acquire the lock, the second waiter is woken when the reservation has ended. If the first
// waiter does, and releases the lock at once, the second waiter is woken by that release, and the third waiter is not.
func TestTheSecondWaiterIsWokenWhenTheFirstDoesNotCome(t *testing.T) {
	t.Parallel()
	open := opener(t, redistest.Start(t).Addr)
	holder := redislock.New(open())
	g := redistest.Acquire(t, holder, redistest.Request("job"))
	all := line(t, 3, open)
	released := time.Now()
	require.NoError(t, holder.Release(t.Context(), g))
	all[0].called(t)
	all[1].called(t)
	assert.GreaterOrEqual(t, time.Since(released), 50*time.Millisecond)
	r := redistest.Request("job")
	r.Waiting = true
	g = redistest.Acquire(t, all[1], r)
	assert.Empty(t, all[2].woken)
	require.NoError(t, all[1].Release(t.Context(), g))
	all[2].called(t)
}

func TestAWaiterThatDoesNotComeCostsOneReservation(t *testing.T) {
	t.Parallel()
	testReservationEnds(t, opener(t, redistest.Start(t).Addr), func(*person) {})
}

// On a Cluster, a release also notifies subscribers that are connected to other servers.
func testQueueOnCluster(t *testing.T, c *redis.ClusterClient, _ []*redis.Client) {
	testReleaseCalls(t, clusterOpener(t, c))
	testReadersWakeEachOther(t, clusterOpener(t, c))
	testReservationEnds(t, clusterOpener(t, c), func(first *person) { require.NoError(t, first.client.Close()) })
	testLateWaiter(t, clusterOpener(t, c))
}

// A waiter whose request has been due for five seconds is skipped, also on a Cluster.
func testLateWaiter(t *testing.T, open func() redis.UniversalClient) {
	holder := redislock.New(open())
	g := redistest.Acquire(t, holder, redistest.Request("job"))
	all := line(t, 2, open)
	shiftLife(t, all[0].client, all[0].Waiter(), -25*time.Second)
	require.NoError(t, holder.Release(t.Context(), g))
	stretch(t, all[1].client)
	all[1].called(t)
	require.NoError(t, all[1].Release(t.Context(), all[1].take(t)))
	assert.Zero(t, queued(t, all[1].client))
}

// A waiter that gives up is removed from the queue. If it was already notified, the next waiter is notified instead.
func TestAWaiterThatGivesUpIsNotCalled(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t).Addr
	open := opener(t, addr)
	holder, admin := redislock.New(open()), open()
	g := redistest.Acquire(t, holder, redistest.Request("job"))
	all := line(t, 3, open)
	all[0].stop()
	require.Equal(t, 2, queued(t, admin))
	require.NoError(t, holder.Release(t.Context(), g))
	all[1].called(t)
	stretch(t, admin)
	all[1].stop()
	all[2].called(t)
	stretch(t, admin)
	assert.Equal(t, driver.Reserved, refused(t, holder).Reason)
	all[2].stop()
	require.Eventually(t, func() bool {
		var err error
		g, err = holder.Acquire(context.Background(), redistest.Request("job"))
		return err == nil
	}, redistest.AtMost, time.Millisecond, "the lock is free, although the reservation has not ended")
	require.NoError(t, holder.Release(t.Context(), g))
}

// Waiters do not shorten a minimum hold: until the minimum hold ends, no waiter is notified and no request is granted.
func TestAReservationDoesNotShortenAMinimumHold(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t).Addr
	open := opener(t, addr)
	holder := redislock.New(open())
	r := redistest.Request("job")
	r.MinHold = time.Hour
	g := redistest.Acquire(t, holder, r)
	p := line(t, 1, open)[0]
	require.NoError(t, holder.Release(t.Context(), g))
	held := p.ask(t)
	assert.Equal(t, driver.MinHold, held.Reason)
	assert.InDelta(t, time.Hour, held.ExpiresIn, float64(time.Minute))
	require.NoError(t, holder.ForceRelease(t.Context(), g.Key, g.Token, false))
	require.NoError(t, p.Release(t.Context(), p.take(t)))
}

// Promise 9 of docs/guarantees.md: a queue has room for more than a hundred processes, and each of them is notified in
// order.
func TestEachOfManyWaitersIsCalled(t *testing.T) {
	t.Parallel()
	const processes = 150
	addr := redistest.Start(t).Addr
	open := opener(t, addr)
	holder, admin := redislock.New(open()), redistest.Connect(t, addr)
	g := redistest.Acquire(t, holder, redistest.Request("job"))
	all := line(t, processes, open)
	for _, p := range all {
		shiftLife(t, admin, p.Waiter(), time.Hour) // so that the waiter does not count as dead on a slow machine
	}
	for i, p := range all {
		assert.Equal(t, processes-i, queued(t, admin))
		require.NoError(t, holder.Release(t.Context(), g))
		p.called(t)
		stretch(t, admin)
		g = p.take(t)
		holder = p.Backend
	}
	assert.Zero(t, queued(t, admin))
	assert.Empty(t, waiters(t, admin), "no waiter is left in the queue")
}

// If waiters leave at the front, in the middle and at the end of the queue, the remaining waiters are notified in
// order.
func TestTheOrderSurvivesWaitersThatLeave(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t).Addr
	open := opener(t, addr)
	holder, admin := redislock.New(open()), redistest.Connect(t, addr)
	g := redistest.Acquire(t, holder, redistest.Request("job"))
	all := line(t, 7, open)
	for _, i := range []int{3, 0, 6, 4} {
		before := queued(t, admin)
		all[i].stop()
		require.Eventually(t, func() bool { return queued(t, admin) == before-1 }, redistest.AtMost, time.Millisecond)
	}
	for i, p := range []*person{all[1], all[2], all[5]} {
		assert.Equal(t, i, p.ask(t).Ahead)
		shiftLife(t, admin, p.Waiter(), time.Hour)
	}
	for _, p := range []*person{all[1], all[2], all[5]} {
		require.NoError(t, holder.Release(t.Context(), g))
		p.called(t)
		stretch(t, admin)
		g, holder = p.take(t), p.Backend
	}
	assert.Empty(t, waiters(t, admin))
}

// If a waiter sends a request again, it keeps its place in the queue, and counts as alive for 25 more seconds.
func TestAWaiterThatAsksAgainKeepsItsPlace(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 4} {
		open := opener(t, redistest.Start(t).Addr)
		holder, admin := redislock.New(open()), open()
		g := redistest.Acquire(t, holder, redistest.Request("job"))
		all := line(t, n, open)
		for _, p := range all {
			shiftLife(t, admin, p.Waiter(), -time.Hour)
		}
		for i, p := range slices.Backward(all) {
			assert.Equal(t, i, p.ask(t).Ahead)
			shiftLife(t, admin, p.Waiter(), time.Minute) // so that the waiter does not count as dead on a slow machine
		}
		for _, p := range all {
			require.NoError(t, holder.Release(t.Context(), g))
			p.called(t)
			stretch(t, admin)
			g, holder = p.take(t), p.Backend
		}
		assert.Empty(t, waiters(t, admin))
		require.NoError(t, holder.Release(t.Context(), g))
	}
}

// A queue is bounded: if it has ten thousand waiters, a further waiter is not added and has to poll. Dead waiters at
// the end of the queue are removed first.
func TestTheQueueIsBounded(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t).Addr
	admin := redistest.Connect(t, addr)
	const most = 10_000
	g := redistest.Acquire(t, redislock.New(admin), redistest.Request("job"))
	p := line(t, 1, opener(t, addr))[0]
	// fill fills the queue. All waiters are dead, except the first ones.
	fill := func(alive int) {
		t.Helper()
		now := admin.Time(t.Context()).Val()
		_, err := admin.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			id := func(i int) string {
				if i < 0 || i == most {
					return "-"
				}
				return fmt.Sprint("id", i)
			}
			value := func(i int) string {
				until := now.Add(-3 * time.Second)
				if i < alive {
					until = now.Add(time.Hour)
				}
				return fmt.Sprintf("%d:%d", i+1, until.UnixMicro())
			}
			for i := range most {
				pipe.HSet(t.Context(), job, "w:"+id(i), fmt.Sprintf("%s %s %s", id(i-1), id(i+1), value(i)))
			}
			pipe.HDel(t.Context(), job, "w:"+p.Waiter())
			return pipe.HSet(t.Context(), job, "queue", fmt.Sprintf("%s %s %d %s %s", id(0), id(most-1), most, value(0), value(most-1))).Err()
		})
		require.NoError(t, err)
	}
	fill(most)
	held := p.ask(t)
	assert.Equal(t, most, held.Ahead)
	assert.False(t, held.Listed)
	assert.Len(t, waiters(t, admin), most)
	fill(2)
	assert.Equal(t, 2, p.ask(t).Ahead)
	assert.Equal(t, []string{"id0", "id1", p.Waiter()}, waiters(t, admin))
	fill(0)
	assert.Zero(t, p.ask(t).Ahead)
	assert.Equal(t, []string{p.Waiter()}, waiters(t, admin))
	require.NoError(t, p.Release(t.Context(), g))
}

// Notify returns when the server has confirmed the subscription, and the waiter then sends a request. So the
// confirmation itself does not wake the waiter.
func TestANewSubscriptionWakesNobody(t *testing.T) {
	t.Parallel()
	open := opener(t, redistest.Start(t).Addr)
	redistest.Acquire(t, redislock.New(open()), redistest.Request("job"))
	p := &person{client: open(), woken: make(chan struct{}, 1)}
	p.Backend = redislock.New(p.client)
	stop, err := p.Notify(t.Context(), driver.Key{Name: "job"}, p.wake)
	require.NoError(t, err)
	defer stop()
	assert.True(t, p.ask(t).Listed)
	assert.Empty(t, p.woken)
}
