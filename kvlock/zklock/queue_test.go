package zklock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

// onlyOneOfAHundredWaitersWakes: when the holder of a lock dies, only one of a hundred waiting processes wakes, and is
// granted the lock. The other processes keep their watches and send no request.
func onlyOneOfAHundredWaitersWakes(t *testing.T, n *network) {
	const many = 100
	ctx, cancel := context.WithCancel(t.Context())
	r := request("a")
	r.TTL = 5 * time.Minute // no session ends while the waiters join one after the other
	holder := open(t, n.servers, n.root, n.overheard())
	_, err := holder.Acquire(ctx, r)
	require.NoError(t, err)
	waiters := make([]<-chan error, many)
	backends := [...]*zklock.Backend{n.watching, open(t, n.servers, n.root), open(t, n.servers, n.root), open(t, n.servers, n.root)}
	for i := range waiters {
		waits := request("a")
		waits.TTL = r.TTL
		waiters[i] = queued(t, n, backends[i%len(backends)], ctx, waits)
	}
	watched(t, n, r.Key, many)
	before := received(t, n)
	require.NoError(t, n.Expire(ctx, r.Key))
	require.NoError(t, <-waiters[0])
	t.Logf("%d waiters, the holder's session ended: %d requests by all clients", many, received(t, n)-before)
	watched(t, n, r.Key, many-1)
	for _, w := range waiters[1:] {
		assert.Empty(t, w)
	}
	_, err = holder.Acquire(t.Context(), request("a"))
	var held *driver.Held
	require.ErrorAs(t, err, &held, "an attempt does not overtake waiters")
	cancel()
	for _, w := range waiters[1:] {
		require.ErrorIs(t, <-w, context.Canceled)
	}
	require.Eventually(t, func() bool { return entries(t, n, r.Key) == 1 }, 30*time.Second, time.Millisecond,
		"a waiter that leaves deletes its node; our server may lag behind the leader for a moment")
}

// waitersAreServedInOrder: waiters are granted the name in the order of their requests, across processes, with rising
// tokens.
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
			g, err := enter(t.Context(), b, r)
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

// If the first waiter in the queue dies, the waiters behind it are not granted a released lock until the servers end
// the dead waiter's session. Then the next waiter is granted the lock.
func TestAWaiterThatDiesAtTheHead(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	held, err := n.watching.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	dying, err := n.open()
	require.NoError(t, err)
	brief := request("a")
	brief.TTL = time.Second
	queued(t, n, dying, t.Context(), brief)
	last := queued(t, n, n.watching, t.Context(), request("a"))
	require.NoError(t, n.Crash(dying))
	died := time.Now()
	require.NoError(t, n.watching.Release(t.Context(), held))
	select {
	case err := <-last:
		require.NoError(t, err)
		t.Logf("the lock was blocked for %s", time.Since(died))
	case <-time.After(30 * time.Second):
		t.Fatal("the lock stays blocked")
	}
}

// deadWaiterGrantsNothing: if a waiter in the middle of the queue dies, the waiters that watched its node read the
// queue. They find other nodes before their own, and continue to wait. Other waiters do nothing.
func deadWaiterGrantsNothing(t *testing.T, n *network) {
	g, err := n.watching.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	dying, err := n.open()
	require.NoError(t, err)
	lost := queued(t, n, dying, t.Context(), request("a"))
	middle := request("a")
	backend := open(t, n.servers, n.root)
	before := queued(t, n, backend, t.Context(), middle)
	last, err := n.open()
	require.NoError(t, err)
	waits := queued(t, n, last, t.Context(), request("a"))
	watched(t, n, g.Key, 3)
	q, err := n.queue(g.Key)
	require.NoError(t, err)
	container := n.watching.Container(g.Key) + "/"
	_, stat, err := n.direct.Get(container + q[1])
	require.NoError(t, err)
	require.NoError(t, n.endSession(stat.EphemeralOwner))
	require.Error(t, <-lost, "a waiter whose node was deleted is not granted the lock")
	watched(t, n, g.Key, 2)
	require.Empty(t, before)
	require.Empty(t, waits)
	require.NoError(t, n.watching.Release(t.Context(), g))
	require.NoError(t, <-before)
	require.Empty(t, waits)
	require.NoError(t, backend.Release(t.Context(), driver.Grant{Key: middle.Key, Nonce: middle.Nonce}))
	require.NoError(t, <-waits)
}

// waiterBehindOthersNoticesItsDeletion: a waiter does not watch its own node. If this node is
// deleted, the waiter still notices it during its wait.
func waiterBehindOthersNoticesItsDeletion(t *testing.T, n *network) {
	_, err := n.watching.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	var last <-chan error
	for range 3 {
		r := request("a")
		r.TTL = 6 * time.Second // the waiter reads the queue again after a third of the TTL
		last = queued(t, n, open(t, n.servers, n.root), t.Context(), r)
	}
	q, err := n.queue(driver.Key{Name: "a"})
	require.NoError(t, err)
	watched(t, n, driver.Key{Name: "a"}, 3)
	require.NoError(t, n.direct.Delete(n.watching.Container(driver.Key{Name: "a"})+"/"+q[3], -1))
	select {
	case err := <-last:
		require.Error(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("the waiter is still waiting")
	}
}

// waiterBehindOthersLearnsTheHolder: a waiter that is not the first gets the holder's description after a tenth of a
// second, and also when its wait ends earlier.
func waiterBehindOthersLearnsTheHolder(t *testing.T, n *network) {
	lease, err := lockerOn(t, n.watching, rowlock.Holder("the holder")).Acquire(t.Context(), "a")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 {
		queued(t, n, open(t, n.servers, n.root), ctx, request("a"))
	}
	l := lockerOn(t, open(t, n.servers, n.root))
	_, err = l.Acquire(ctx, "b") // opens the session first, which can be slow on a loaded machine
	require.NoError(t, err)
	var held *rowlock.HeldError
	require.Eventually(t, func() bool { // the answer about the holder may come too late
		_, err = l.Acquire(ctx, "a", rowlock.Wait(20*time.Millisecond))
		require.ErrorAs(t, err, &held)
		return held.Holder != ""
	}, 30*time.Second, time.Millisecond)
	assert.Equal(t, "the holder", held.Holder)
	assert.Equal(t, lease.Token(), held.Token)
	told := make(chan string, 100)
	trace := rowlock.Tracing(&rowlock.Trace{HeldByOther: func(e rowlock.HeldByOtherEvent) { told <- e.Held.Holder }})
	go func() { _, _ = l.Acquire(ctx, "a", trace) }()
	select {
	case who := <-told:
		assert.Equal(t, "the holder", who)
	case <-time.After(30 * time.Second):
		t.Fatal("the waiter did not learn the holder")
	}
}

// waiterWithoutItsNodeIsNotGranted: if the first waiter's node is deleted just before the holder's node, the second
// waiter is granted the lock, and the first is not. This holds whether the first waiter gets the two events one after
// the other, or finds both changes after a reconnect.
func waiterWithoutItsNodeIsNotGranted(t *testing.T, n *network) {
	for name, cut := range map[string]bool{"at-once": false, "later": true} {
		g, err := n.watching.Acquire(t.Context(), request(name))
		require.NoError(t, err)
		next, err := n.open()
		require.NoError(t, err)
		lost := queued(t, n, next, t.Context(), request(name))
		waits := queued(t, n, n.watching, t.Context(), request(name))
		watched(t, n, g.Key, 2)
		q, err := n.queue(g.Key)
		require.NoError(t, err)
		if cut {
			require.NoError(t, n.Cut(next))
		}
		require.NoError(t, n.direct.Delete(n.watching.Container(g.Key)+"/"+q[1], -1))
		require.NoError(t, n.watching.Release(t.Context(), g))
		require.NoError(t, <-waits)
		require.NoError(t, n.Restore(next))
		require.Error(t, <-lost)
	}
}

// Many brief waits for a held lock share one watch, instead of leaving one watch behind for each wait.
func TestBriefWaitsLeaveNoWatches(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	r := request("a")
	_, err := n.watching.Acquire(t.Context(), r)
	require.NoError(t, err)
	b := open(t, n.servers, n.root)
	l := lockerOn(t, b)
	_, err = l.Acquire(t.Context(), "b") // opens the session first, which can be slow on a loaded machine
	require.NoError(t, err)
	for range 5 {
		_, err := l.Acquire(t.Context(), "a", rowlock.Wait(20*time.Millisecond))
		require.ErrorIs(t, err, rowlock.ErrHeld)
	}
	assert.LessOrEqual(t, b.ClientWatches(), 1)
	require.Eventually(t, func() bool { return entries(t, n, r.Key) == 1 }, 30*time.Second, time.Millisecond)
}

// readersAndWritersQueue: several readers hold the lock at the same time. Readers wait for an earlier writer, but not
// for a later writer. Readers that wait behind the same writer are granted the lock together.
func readersAndWritersQueue(t *testing.T, n *network) {
	key := driver.Key{Name: "a"}
	one, err := n.watching.Acquire(t.Context(), share("a"))
	require.NoError(t, err)
	two, err := open(t, n.servers, n.root).Acquire(t.Context(), share("a"))
	require.NoError(t, err)
	require.Equal(t, one.Token, two.Token)
	writer := make(chan driver.Grant, 1)
	writing, err := n.open()
	require.NoError(t, err)
	go func() {
		g, err := enter(t.Context(), writing, request("a"))
		assert.NoError(t, err)
		writer <- g
	}()
	require.Eventually(t, func() bool { return entries(t, n, key) == 3 }, 30*time.Second, time.Millisecond)
	_, err = n.watching.Acquire(t.Context(), share("a"))
	var held *driver.Held
	require.ErrorAs(t, err, &held, "a reader does not overtake a waiting writer")
	var readers []<-chan error
	for range 3 {
		b, err := n.open()
		require.NoError(t, err)
		readers = append(readers, queued(t, n, b, t.Context(), share("a")))
	}
	watched(t, n, key, 1+3) // the writer watches the second reader, and the three waiting readers watch the writer
	require.NoError(t, n.watching.Release(t.Context(), one))
	require.Empty(t, writer, "the second reader still holds the lock")
	q, err := n.queue(key)
	require.NoError(t, err)
	_, stat, err := n.direct.Get(n.watching.Container(key) + "/" + q[0])
	require.NoError(t, err)
	require.NoError(t, n.direct.Delete(n.watching.Container(key)+"/"+q[0], stat.Version)) // an operator deletes the second reader's node
	g := <-writer
	require.Greater(t, g.Token, two.Token)
	for _, r := range readers {
		require.Empty(t, r)
	}
	require.NoError(t, writing.Release(t.Context(), g))
	for _, r := range readers {
		require.NoError(t, <-r)
	}
	require.Equal(t, 3, entries(t, n, key))
}

// Every UTF-8 name can be escaped for ZooKeeper, and unescaping returns the same name.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"a/b", ".", "..", "...", "%2F", "\x01\x7f\u0085", "🔒", "\ue000\ufffe", "é世"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if fmt.Sprint([]rune(s)) == "" || string([]rune(s)) != s { // names must be valid UTF-8
			return
		}
		escaped := zklock.Escape(s)
		require.NotContains(t, escaped, "/")
		require.Equal(t, s, zklock.Unescape(escaped))
	})
}

// After a lock has had 2³¹ children, sequence numbers become negative. The order of the queue stays right.
func TestSequenceNumbersPassTheirEnd(t *testing.T) {
	order := []string{
		"lock-2147483646", "_c_x-lock-2147483647", "_c_x-lock--2147483648", "_c_x-lock--2147483647",
	}
	require.Equal(t, order, zklock.Sequences([]string{order[2], "unknown", order[0], order[3], order[1]}))
	order = []string{"_c_x-lock--000000002", "_c_x-lock--000000001", "_c_x-lock-0000000000", "_c_x-lock-0000000001"}
	require.Equal(t, order, zklock.Sequences([]string{order[3], order[1], order[2], order[0]}))
}
