package zklock_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
)

// abandonedNodeIsIgnored: a waiter whose session is no longer trusted puts a new node into the queue on a second
// session, behind later requests. The servers keep its first node, with the same nonce, until the first session ends.
// The waiter ignores its first node. Otherwise the waiter would be granted the lock through its first node, before the
// later requests. When the first session ended, a later request would be granted the lock while the waiter still holds
// it.
func abandonedNodeIsIgnored(t *testing.T, n *network) {
	key := driver.Key{Name: "a"}
	first, err := lockerOn(t, n.watching).Acquire(t.Context(), key.Name)
	require.NoError(t, err)
	type grant struct {
		who   string
		lease *rowlock.Lease
	}
	granted := make(chan grant, 2)
	stands := func(want int) {
		t.Helper()
		require.Eventually(t, func() bool { return entries(t, n, key) == want }, 20*time.Second, time.Millisecond)
	}
	wait := func(who string, b driver.Backend) {
		l := lockerOn(t, b, rowlock.TTL(time.Minute))
		go func() {
			lease, err := l.Acquire(t.Context(), key.Name)
			assert.NoError(t, err)
			granted <- grant{who, lease}
		}()
	}
	cut, err := n.open()
	require.NoError(t, err)
	wait("cut off", cut)
	stands(2)
	q, err := n.queue(key)
	require.NoError(t, err)
	_, left, err := n.direct.Get(n.watching.Container(key) + "/" + q[1])
	require.NoError(t, err)
	between, err := n.open()
	require.NoError(t, err)
	wait("between", between)
	stands(3)

	require.NoError(t, n.each(cut, func(p *faultproxy.Proxy) { p.CutFrom(func(net.Addr) bool { return true }) }))
	cut.Abandon()
	require.NoError(t, n.Restore(cut))
	stands(4)
	q, err = n.queue(key)
	require.NoError(t, err)
	require.Eventually(t, func() (waits bool) {
		for _, s := range n.servers {
			waits = waits || watches(t, s, n.watching.Container(key)+"/"+q[2]) > 0
		}
		return waits
	}, 30*time.Second, 5*time.Millisecond, "the waiter does not watch the node of the later request")
	require.NoError(t, first.Release(t.Context()))
	require.NoError(t, n.endSession(left.EphemeralOwner))
	one := <-granted
	require.NotNil(t, one.lease)
	require.Equal(t, "between", one.who)
	require.Empty(t, granted, "the lock was granted twice")
	require.NoError(t, one.lease.Release(t.Context()))
	two := <-granted
	require.NotNil(t, two.lease)
	require.Greater(t, two.lease.Token(), one.lease.Token())
	require.NoError(t, two.lease.Renew(t.Context()))
}

// lostReplyIsNotFoundInAnEarlierSession: after a lost reply, the backend finds its node by the nonce. It ignores a node
// of another session, because that node has another token and ends with its own session.
func lostReplyIsNotFoundInAnEarlierSession(t *testing.T, n *network) {
	later, err := n.open()
	require.NoError(t, err)
	warm := request("a")
	g, err := later.Acquire(t.Context(), warm)
	require.NoError(t, err)
	require.NoError(t, later.Release(t.Context(), g))

	r := request("a")
	first, err := n.watching.Acquire(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, n.DropReply(later))
	type result struct {
		driver.Grant
		error
	}
	done := make(chan result, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		g, err := enter(ctx, later, r)
		done <- result{g, err}
	}()
	require.Eventually(t, func() bool { return len(done) == 1 || watching(t, n, r.Key) == 1 }, 20*time.Second, 5*time.Millisecond)
	require.Empty(t, done, "the lock was granted twice")
	require.NoError(t, n.watching.Release(t.Context(), first))
	second := <-done
	require.NoError(t, second.error)
	_, stat, err := n.head(r.Key)
	require.NoError(t, err)
	require.EqualValues(t, stat.Czxid, second.Token)
	require.Greater(t, second.Token, first.Token)
}

// existingNodeIsNotDenied: an attempt has created a node and then cannot reach a server. Its error is not marked as not
// applied, and the backend deletes the node. Otherwise the node would stay at the head of the queue for as long as the
// session lives.
func existingNodeIsNotDenied(t *testing.T, n *network) {
	b, err := n.open()
	require.NoError(t, err)
	g, err := b.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	require.NoError(t, b.Release(t.Context(), g))

	r := request("a")
	require.NoError(t, n.each(b, func(p *faultproxy.Proxy) { p.CutAfter(1) }))
	ctx, cancel := context.WithCancel(t.Context())
	attempt := make(chan error, 1)
	go func() {
		_, err := b.Acquire(ctx, r)
		attempt <- err
	}()
	require.Eventually(t, func() bool { return entries(t, n, r.Key) == 1 }, 20*time.Second, time.Millisecond)
	cancel()
	require.Error(t, <-attempt)
	require.NoError(t, n.Restore(b))
	require.Eventually(t, func() bool { return b.Stands(r.Nonce) }, 20*time.Second, time.Millisecond)

	require.NoError(t, n.Cut(b))
	require.NoError(t, n.each(b, (*faultproxy.Proxy).Reset))
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = b.Acquire(ctx, r)
	require.Error(t, err)
	require.Equal(t, 1, entries(t, n, r.Key))
	require.False(t, driver.IsNotApplied(err), "the node exists: %v", err)
	require.NoError(t, n.Restore(b))
	require.Eventually(t, func() bool { return entries(t, n, r.Key) == 0 }, 20*time.Second, 5*time.Millisecond)
}
