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

// lostSessionEndsItsLeasesOnly: the loss of a session ends all leases on that session, and no others. The locker
// continues with a new session. (In another lock library, the lock object is unusable after such a loss.)
func lostSessionEndsItsLeasesOnly(t *testing.T, n *network) {
	l := lockerOn(t, n.watching, rowlock.TTL(time.Minute)) // this TTL is so long that no renewal runs during the test
	var leases []*rowlock.Lease
	for _, name := range []string{"a", "b", "c"} {
		lease, err := l.Acquire(t.Context(), name)
		require.NoError(t, err)
		leases = append(leases, lease)
	}
	other, err := l.Acquire(t.Context(), "other", rowlock.TTL(10*time.Second)) // a lock with another TTL uses another session
	require.NoError(t, err)
	_, one, err := n.head(driver.Key{Name: "a"})
	require.NoError(t, err)
	_, three, err := n.head(driver.Key{Name: "c"})
	require.NoError(t, err)
	require.Equal(t, one.EphemeralOwner, three.EphemeralOwner)
	require.NoError(t, n.Expire(t.Context(), driver.Key{Name: "a"}))
	for _, lease := range leases {
		select {
		case <-lease.Context().Done():
		case <-time.After(30 * time.Second):
		}
		require.ErrorIs(t, lease.Err(), rowlock.ErrLost)
	}
	again, err := l.Acquire(t.Context(), "d")
	require.NoError(t, err)
	require.NoError(t, again.Renew(t.Context()))
	require.NoError(t, other.Renew(t.Context()))
	same, err := l.Acquire(t.Context(), "a")
	require.NoError(t, err)
	require.Greater(t, same.Token(), leases[0].Token())
}

// sessionExpiryWhileWaiting: if the session of a waiter ends, the waiter loses its position in the queue, but continues
// to wait.
func sessionExpiryWhileWaiting(t *testing.T, n *network) {
	b, err := n.open()
	require.NoError(t, err)
	first, err := lockerOn(t, n.watching).Acquire(t.Context(), "a")
	require.NoError(t, err)
	got := make(chan *rowlock.Lease, 1)
	go func() {
		lease, _ := lockerOn(t, b).Acquire(t.Context(), "a")
		got <- lease
	}()
	key := driver.Key{Name: "a"}
	require.Eventually(t, func() bool { return entries(t, n, key) == 2 }, 30*time.Second, time.Millisecond)
	q, err := n.queue(key)
	require.NoError(t, err)
	_, stat, err := n.direct.Get(n.watching.Container(key) + "/" + q[1])
	require.NoError(t, err)
	require.NoError(t, n.endSession(stat.EphemeralOwner))
	require.Eventually(t, func() bool { return entries(t, n, key) == 2 }, 30*time.Second, time.Millisecond, "the waiter has a new node")
	require.NoError(t, first.Release(t.Context()))
	require.NotNil(t, <-got)
}

// If a client was cut off until its trust ended, it does not resume its old session. Otherwise that session would hold
// the name for as long as the client sends pings.
func TestAnUntrustedSessionIsEnded(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	b, err := n.open()
	require.NoError(t, err)
	lease, err := lockerOn(t, b, rowlock.TTL(time.Second)).Acquire(t.Context(), "a")
	require.NoError(t, err)
	require.NoError(t, n.Cut(b))
	<-lease.Context().Done()
	require.NoError(t, n.Restore(b))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	next, err := lockerOn(t, n.watching).Acquire(ctx, "a")
	require.NoError(t, err)
	require.Greater(t, next.Token(), lease.Token())
}

// If a server stops answering during a request, the session moves to another server early enough to renew the lease.
// Without this, ZooKeeper's client would wait for longer than the lease is trusted.
func TestASilentServerIsLeft(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	b, err := n.open()
	require.NoError(t, err)
	lease, err := lockerOn(t, b, rowlock.TTL(8*time.Second)).Acquire(t.Context(), "a")
	require.NoError(t, err)
	require.NoError(t, lease.Renew(t.Context()))
	require.NoError(t, n.each(b, func(p *faultproxy.Proxy) { p.DropReplies(1, faultproxy.Hang) }))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, lease.Renew(ctx), rowlock.ErrUnknown)
	require.Eventually(t, func() bool { return lease.Err() != nil || lease.Renew(t.Context()) == nil }, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, lease.Err())
}

// If a server accepts connections but sends nothing, for example because it is suspended, the session connects to
// another server.
func TestAServerThatDoesNotGreetIsPassed(t *testing.T) {
	t.Parallel()
	servers := []string{server(t)}
	for range 5 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		servers = append(servers, l.Addr().String())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // without handshakeLimit, the client would spend this time on two of these servers
	defer cancel()
	r := request("a")
	r.TTL = time.Second
	_, err := open(t, servers, root()).Acquire(ctx, r)
	require.NoError(t, err)
}

// A wait may last longer than a session is trusted without a proof. The waiter keeps its node in the queue, and the
// lease that it is granted can be renewed.
func TestALongWaitKeepsItsPlace(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	first, err := lockerOn(t, n.watching).Acquire(t.Context(), "a")
	require.NoError(t, err)
	b, err := n.open()
	require.NoError(t, err)
	got := make(chan *rowlock.Lease, 1)
	go func() {
		lease, err := lockerOn(t, b, rowlock.TTL(5*time.Second)).Acquire(t.Context(), "a")
		assert.NoError(t, err)
		got <- lease
	}()
	key := driver.Key{Name: "a"}
	require.Eventually(t, func() bool { return entries(t, n, key) == 2 }, 30*time.Second, time.Millisecond)
	before, err := n.queue(key)
	require.NoError(t, err)
	time.Sleep(5 * time.Second) // this is longer than the session is trusted without a proof
	require.NoError(t, first.Release(t.Context()))
	lease := <-got
	require.NotNil(t, lease)
	_, stat, err := n.direct.Get(n.watching.Container(key) + "/" + before[1])
	require.NoError(t, err, "the waiter kept its node")
	require.EqualValues(t, stat.Czxid, lease.Token())
	require.NoError(t, lease.Renew(t.Context()))
}

// A grant is trusted for eight tenths of the requested TTL. If the servers limit the session's timeout, it is trusted
// for four tenths of that timeout. The servers of this test permit ten minutes.
func TestHowLongAGrantIsTrusted(t *testing.T) {
	t.Parallel()
	b := open(t, []string{server(t)}, root())
	for ttl, want := range map[time.Duration]time.Duration{20 * time.Second: 16 * time.Second, time.Hour: 4 * time.Minute} {
		r := request(ttl.String())
		r.TTL = ttl
		g, err := b.Acquire(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, want, g.TTL)
	}
}

// If no server can be reached, a call fails within its time limit with ErrUnavailable and the reason. After Close, a
// call fails with an error that says that the backend is closed.
func TestNoServer(t *testing.T) {
	t.Parallel()
	b := open(t, []string{"127.0.0.1:1"})
	_, err := lockerOn(t, b, rowlock.TTL(time.Second)).TryAcquire(t.Context(), "a")
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	require.ErrorContains(t, err, "refused", "the error gives the reason")
	b.Close()
	b.Close()
	_, err = b.Acquire(t.Context(), request("a"))
	require.True(t, driver.IsPermanent(err), "%v", err)
	require.ErrorContains(t, err, "closed")
}
