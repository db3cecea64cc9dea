package etcdlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// A caller gives up a request that got no reply, and etcd executes the request late. The late entry does not stay at
// the head of the queue. This holds although other locks keep the session alive, and although no caller releases the
// entry.
func TestNoOrphanAtTheHeadOfTheQueue(t *testing.T) { onOneNode(t, noOrphanAtTheHeadOfTheQueue) }
func TestCompatNoOrphanAtTheHeadOfTheQueue(t *testing.T) {
	onThreeNodes(t, noOrphanAtTheHeadOfTheQueue)
}

func noOrphanAtTheHeadOfTheQueue(t *testing.T, n *network) {
	b, err := n.open()
	require.NoError(t, err)
	kept, err := b.Acquire(t.Context(), request("kept"))
	require.NoError(t, err)
	require.NoError(t, n.Cut(b))
	r := request("a")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = inQueue(b, ctx, r)
	require.Error(t, err)
	require.False(t, driver.IsNotApplied(err), "%v", err)
	require.NoError(t, n.Restore(b))
	// Simulate a request that arrives after its caller has given up: put the same key with the same session.
	lease, err := n.leaseOf(t.Context(), kept.Key)
	require.NoError(t, err)
	_, err = n.direct.Put(t.Context(), b.EntryOf(r.Nonce), "{}", clientv3.WithLease(lease))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, _ = b.Renew(t.Context(), []driver.Grant{kept})
		return entries(t, n, r.Key) == 0
	}, 30*time.Second, 10*time.Millisecond)
	outcomes, err := b.Renew(t.Context(), []driver.Grant{kept})
	require.NoError(t, err)
	require.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	_, err = n.watching.Acquire(t.Context(), r)
	require.NoError(t, err)
}

// Release deletes an entry only if the entry in the store has the token of the grant. If someone has deleted the
// granted entry and put a new entry with the same key, the new entry stays.
func TestReleaseComparesInTheStore(t *testing.T)       { onOneNode(t, releaseComparesInTheStore) }
func TestCompatReleaseComparesInTheStore(t *testing.T) { onThreeNodes(t, releaseComparesInTheStore) }

func releaseComparesInTheStore(t *testing.T, n *network) {
	g, err := n.watching.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	session, err := n.leaseOf(t.Context(), g.Key)
	require.NoError(t, err)
	entry := n.watching.EntryOf(g.Nonce)
	_, err = n.direct.Delete(t.Context(), entry)
	require.NoError(t, err)
	_, err = n.direct.Put(t.Context(), entry, "{}", clientv3.WithLease(session))
	require.NoError(t, err)
	require.ErrorIs(t, n.watching.Release(t.Context(), g), driver.ErrNotHeld)
	require.Equal(t, 1, entries(t, n, g.Key))
}

// A lock on job/1 does not block job, and a lock on job does not block job/1.
func TestNamesArePrefixesOfNone(t *testing.T)       { onOneNode(t, namesArePrefixesOfNone) }
func TestCompatNamesArePrefixesOfNone(t *testing.T) { onThreeNodes(t, namesArePrefixesOfNone) }

func namesArePrefixesOfNone(t *testing.T, n *network) {
	for _, name := range []string{"job/1", "job", "job/", "job/1/", "job%2F1", "%"} {
		_, err := n.watching.Acquire(t.Context(), request(name))
		require.NoError(t, err, name)
	}
}

// Two acquisitions on one session exclude each other.
func TestOneSessionHoldsANameOnce(t *testing.T)       { onOneNode(t, oneSessionHoldsANameOnce) }
func TestCompatOneSessionHoldsANameOnce(t *testing.T) { onThreeNodes(t, oneSessionHoldsANameOnce) }

func oneSessionHoldsANameOnce(t *testing.T, n *network) {
	b := n.watching
	_, err := b.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	var held *driver.Held
	_, err = b.Acquire(t.Context(), request("a"))
	require.ErrorAs(t, err, &held)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = inQueue(b, ctx, request("a"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// All locks of a backend with the same TTL use one etcd lease. When the backend notices that this lease is lost, all
// its locks end at once. New locks use a new lease.
func TestALostSessionEndsAllItsLeasesAndNoOthers(t *testing.T) {
	onOneNode(t, aLostSessionEndsAllItsLeasesAndNoOthers)
}

func aLostSessionEndsAllItsLeasesAndNoOthers(t *testing.T, n *network) {
	l := lockerOn(t, n.watching)
	var leases []*rowlock.Lease
	for _, name := range []string{"a", "b", "c"} {
		lease, err := l.Acquire(t.Context(), name)
		require.NoError(t, err)
		leases = append(leases, lease)
	}
	one, err := n.leaseOf(t.Context(), driver.Key{Name: "a"})
	require.NoError(t, err)
	other, err := n.leaseOf(t.Context(), driver.Key{Name: "c"})
	require.NoError(t, err)
	require.Equal(t, one, other)
	require.NoError(t, n.Expire(t.Context(), driver.Key{Name: "a"}))
	again, err := l.Acquire(t.Context(), "d") // this renewal fails, so the backend notices that the session is lost
	require.NoError(t, err)
	for _, lease := range leases {
		require.ErrorIs(t, lease.Err(), rowlock.ErrLost)
	}
	require.NoError(t, again.Renew(t.Context()))
}

// If the session of a waiter ends, the waiter loses its position in the queue, but continues to wait.
func TestSessionExpiryWhileWaiting(t *testing.T)       { onOneNode(t, sessionExpiryWhileWaiting) }
func TestCompatSessionExpiryWhileWaiting(t *testing.T) { onThreeNodes(t, sessionExpiryWhileWaiting) }

func sessionExpiryWhileWaiting(t *testing.T, n *network) {
	b, err := n.open()
	require.NoError(t, err)
	first, err := lockerOn(t, n.watching).Acquire(t.Context(), "a")
	require.NoError(t, err)
	got := make(chan *rowlock.Lease, 1)
	go func() {
		lease, _ := lockerOn(t, b, rowlock.TTL(time.Second)).Acquire(t.Context(), "a")
		got <- lease
	}()
	key := driver.Key{Name: "a"}
	require.Eventually(t, func() bool { return entries(t, n, key) == 2 }, 30*time.Second, time.Millisecond)
	reply, err := n.direct.Get(t.Context(), n.watching.Queue(key), clientv3.WithLastCreate()...)
	require.NoError(t, err)
	_, err = n.direct.Revoke(t.Context(), clientv3.LeaseID(reply.Kvs[0].Lease))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return entries(t, n, key) == 2 }, 30*time.Second, time.Millisecond, "the waiter has a new entry")
	require.NoError(t, first.Release(t.Context()))
	require.NotNil(t, <-got)
}

// If a request has an option that etcd cannot keep, the error names the option. New refuses an invalid prefix and a nil
// client.
func TestWhatEtcdCannotKeepIsRefused(t *testing.T) {
	t.Parallel()
	l := lockerOn(t, etcdlock.New(connect(t, server(t)), prefix()))
	_, err := l.TryAcquire(t.Context(), "a", rowlock.MinHold(time.Second))
	require.ErrorContains(t, err, "MinHold")
	_, err = l.TryAcquire(t.Context(), "a", rowlock.HandoverDelay(time.Second))
	require.ErrorContains(t, err, "HandoverDelay")
	_, err = rowlock.New(etcdlock.New(connect(t, server(t)), etcdlock.Prefix("a/")))
	require.ErrorContains(t, err, "Prefix")
	_, err = rowlock.New(etcdlock.New(nil))
	require.ErrorContains(t, err, "client")
}
