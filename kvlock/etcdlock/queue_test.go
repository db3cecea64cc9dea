package etcdlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// When the holder of a lock dies, only the first of a hundred waiting processes wakes, and it sends one request. The
// other processes send none.
func TestOnlyOneOfAHundredWaitersWakes(t *testing.T) { onCountedNode(t, onlyOneOfAHundredWaitersWakes) }

func TestCompatOnlyOneOfAHundredWaitersWakes(t *testing.T) {
	onCountedNodes(t, onlyOneOfAHundredWaitersWakes)
}

func onlyOneOfAHundredWaitersWakes(t *testing.T, n *network) {
	const many = 100
	ctx, cancel := context.WithCancel(t.Context())
	r := request("a")
	r.TTL = time.Hour
	_, err := n.watching.Acquire(ctx, r)
	require.NoError(t, err)
	waiters := make([]<-chan error, many)
	clients := [...]*clientv3.Client{connect(t, n.endpoints...), connect(t, n.endpoints...), connect(t, n.endpoints...), connect(t, n.endpoints...)}
	for i := range waiters {
		b := etcdlock.New(clients[i%len(clients)], n.prefix)
		r := request("a")
		r.TTL = time.Hour // without being woken, a waiter checks the queue only after a quarter of the TTL
		waiters[i] = queued(t, n, b, ctx, r)
	}
	require.Eventually(t, func() bool { return n.metric(watches) == many+1 }, 30*time.Second, 10*time.Millisecond)
	before := 0
	require.Eventually(t, func() bool { // a waiter reads the queue once more if it changed while the watch was created
		last := before
		before = n.metric(txns)
		return before == last
	}, 30*time.Second, 300*time.Millisecond)
	require.NoError(t, n.Expire(ctx, r.Key))
	require.NoError(t, <-waiters[0])
	asked := n.metric(txns) - before
	t.Logf("%d waiters, the holder's session ended: %d transaction", many, asked)
	assert.Equal(t, 1, asked)
	for _, w := range waiters[1:] {
		assert.Empty(t, w)
	}
	_, err = n.watching.Acquire(t.Context(), request("a"))
	var held *driver.Held
	require.ErrorAs(t, err, &held, "an attempt does not overtake waiters")
	cancel()
	for _, w := range waiters[1:] {
		require.ErrorIs(t, <-w, context.Canceled)
	}
	assert.Equal(t, 1, entries(t, n, r.Key), "a waiter that leaves deletes its entry")
}

// Waiters are granted the name in the order of their requests, across processes, with rising tokens.
func TestWaitersAreServedInOrder(t *testing.T) { onOneNode(t, waitersAreServedInOrder) }

func TestCompatWaitersAreServedInOrder(t *testing.T) { onThreeNodes(t, waitersAreServedInOrder) }

func waitersAreServedInOrder(t *testing.T, n *network) {
	g, err := n.watching.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	var mu sync.Mutex
	var order []int
	var tokens []driver.Token
	var group sync.WaitGroup
	for i := range 6 {
		b, err := n.open()
		require.NoError(t, err)
		r := request("a")
		before := entries(t, n, r.Key)
		group.Go(func() {
			g, err := inQueue(b, t.Context(), r)
			if !assert.NoError(t, err) {
				return
			}
			mu.Lock()
			order, tokens = append(order, i), append(tokens, g.Token)
			mu.Unlock()
			assert.NoError(t, b.Release(t.Context(), g))
		})
		require.Eventually(t, func() bool { return entries(t, n, r.Key) > before }, 30*time.Second, time.Millisecond)
	}
	require.NoError(t, n.watching.Release(t.Context(), g))
	group.Wait()
	assert.Equal(t, []int{0, 1, 2, 3, 4, 5}, order)
	assert.IsIncreasing(t, tokens)
}

// If a waiter in the middle of the queue dies, the waiter behind it reads the queue, finds another entry before its
// own, and continues to wait. (Another lock library wrongly grants the lock in this case.)
func TestAWaiterThatDiesGrantsNothing(t *testing.T) { onOneNode(t, aWaiterThatDiesGrantsNothing) }

func TestCompatAWaiterThatDiesGrantsNothing(t *testing.T) {
	onThreeNodes(t, aWaiterThatDiesGrantsNothing)
}

func aWaiterThatDiesGrantsNothing(t *testing.T, n *network) {
	g, err := n.watching.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	dying, err := n.open()
	require.NoError(t, err)
	last, err := n.open()
	require.NoError(t, err)
	middle := request("a")
	lost := queued(t, n, dying, t.Context(), middle)
	waits := queued(t, n, last, t.Context(), request("a"))
	entry, err := n.direct.Get(t.Context(), dying.EntryOf(middle.Nonce))
	require.NoError(t, err)
	_, err = n.direct.Revoke(t.Context(), clientv3.LeaseID(entry.Kvs[0].Lease))
	require.NoError(t, err)
	require.Equal(t, 2, entries(t, n, g.Key))
	require.NoError(t, n.watching.Release(t.Context(), g))
	require.NoError(t, <-waits)
	require.Error(t, <-lost, "a waiter whose entry was deleted is not granted the lock")
}

// A waiter notices a release even if etcd has compacted the revision from which the waiter watches. The waiter is cut
// off during the release and the compaction, so its watch must restart at a compacted revision.
func TestCompactionWhileWaiting(t *testing.T) { onCountedNode(t, compactionWhileWaiting) }

func TestCompatCompactionWhileWaiting(t *testing.T) { onCountedNodes(t, compactionWhileWaiting) }

func compactionWhileWaiting(t *testing.T, n *network) {
	g, err := n.watching.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	b, err := n.open()
	require.NoError(t, err)
	waits := queued(t, n, b, t.Context(), request("a"))
	require.Eventually(t, func() bool { return n.metric(watches) == 2 }, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, n.Cut(b))
	require.NoError(t, n.watching.Release(t.Context(), g))
	var last int64
	for i := range 10 {
		reply, err := n.direct.Put(t.Context(), "filler", fmt.Sprint(i))
		require.NoError(t, err)
		last = reply.Header.Revision
	}
	_, err = n.direct.Compact(t.Context(), last)
	require.NoError(t, err)
	require.NoError(t, n.Restore(b))
	require.NoError(t, <-waits)
}
