package etcdlock_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// When a session ends in etcd, trust in all its exclusive and shared locks ends, without a renewal.
func TestTheEndOfASessionEndsTrust(t *testing.T) { onOneNode(t, theEndOfASessionEndsTrust) }

func TestCompatTheEndOfASessionEndsTrust(t *testing.T) { onThreeNodes(t, theEndOfASessionEndsTrust) }

func theEndOfASessionEndsTrust(t *testing.T, n *network) {
	b, err := n.open()
	require.NoError(t, err)
	var ends []context.Context
	for i := range 10 {
		g, err := b.Acquire(t.Context(), request(fmt.Sprint(i)))
		require.NoError(t, err)
		ends = append(ends, g.Session)
	}
	share, err := b.Acquire(t.Context(), reading("read"))
	require.NoError(t, err)
	ends = append(ends, share.Session)
	longer := request("longer")
	longer.TTL = time.Minute // uses another session
	other, err := b.Acquire(t.Context(), longer)
	require.NoError(t, err)
	revoked := time.Now()
	require.NoError(t, n.Expire(t.Context(), driver.Key{Name: "0"}))
	for _, session := range ends {
		requireOver(t, session, "its lease was revoked")
	}
	t.Logf("trust ended after %s", time.Since(revoked))
	require.NoError(t, other.Session.Err())
}

// If a session ends while its process is cut off, the process notices the end when the network is back. The process
// needs no renewal for that. It also notices the end if etcd has compacted the revisions since the process was cut
// off.
func TestASessionThatEndedUnseen(t *testing.T) { onOneNode(t, aSessionThatEndedUnseen) }

func TestCompatASessionThatEndedUnseen(t *testing.T) { onThreeNodes(t, aSessionThatEndedUnseen) }

func aSessionThatEndedUnseen(t *testing.T, n *network) {
	for _, compacts := range []bool{false, true} {
		b, err := n.open()
		require.NoError(t, err)
		r := request("a")
		g, err := b.Acquire(t.Context(), r)
		require.NoError(t, err)
		session := g.Session
		require.Eventually(t, func() bool { return watched(t, n, r.Key) }, 20*time.Second, 5*time.Millisecond)
		require.NoError(t, n.Cut(b))
		require.NoError(t, n.Expire(t.Context(), r.Key))
		reply, err := n.direct.Put(t.Context(), n.watching.Queue(r.Key)+"later", "")
		require.NoError(t, err)
		if compacts {
			_, err = n.direct.Compact(t.Context(), reply.Header.Revision)
			require.NoError(t, err)
		}
		_, err = n.direct.Delete(t.Context(), n.watching.Queue(r.Key)+"later")
		require.NoError(t, err)
		require.NoError(t, session.Err())
		require.NoError(t, n.Restore(b))
		requireOver(t, session, "its lease was revoked")
	}
}

// watched reports whether the session that holds key has put its session key, which its process watches.
func watched(t *testing.T, n *network, key driver.Key) bool {
	t.Helper()
	lease, err := n.leaseOf(t.Context(), key)
	require.NoError(t, err)
	reply, err := n.direct.Get(t.Context(), n.watching.SessionKey(lease))
	require.NoError(t, err)
	return reply.Count == 1
}

// A forced release ends trust in the released lock without a renewal. Trust in other locks of the session continues.
func TestAForcedReleaseEndsTrust(t *testing.T) { onOneNode(t, aForcedReleaseEndsTrust) }

func TestCompatAForcedReleaseEndsTrust(t *testing.T) { onThreeNodes(t, aForcedReleaseEndsTrust) }

func aForcedReleaseEndsTrust(t *testing.T, n *network) {
	b, err := n.open()
	require.NoError(t, err)
	g, err := b.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	kept, err := b.Acquire(t.Context(), request("b"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return watched(t, n, g.Key) }, 20*time.Second, 5*time.Millisecond)
	session := g.Session
	require.NoError(t, n.watching.ForceRelease(t.Context(), g.Key, g.Token, true))
	requireOver(t, session, "its release was forced")
	require.NoError(t, kept.Session.Err())
	outcomes, err := b.Renew(t.Context(), []driver.Grant{g, kept})
	require.NoError(t, err)
	require.Equal(t, []driver.Outcome{driver.Lost, driver.Renewed}, outcomes)
	require.ErrorIs(t, b.Release(t.Context(), g), driver.ErrNotHeld)
}

// A process has one watch for all its locks with the same TTL. The watch ends when the locker is closed. The next lock
// starts a new watch.
func TestOneWatchForAllLocks(t *testing.T) {
	t.Parallel()
	s := counted(t)
	b := etcdlock.New(connect(t, s.DSN))
	standing := func(want int) {
		t.Helper()
		require.Eventually(t, func() bool { return metric(t, s.DSN, watches) == want }, 20*time.Second, 10*time.Millisecond)
	}
	for range 2 {
		l := lockerOn(t, b)
		for i := range 100 {
			_, err := l.Acquire(t.Context(), fmt.Sprint(i))
			require.NoError(t, err)
		}
		standing(1)
		for range 20 {
			require.Equal(t, 1, metric(t, s.DSN, watches))
		}
		require.NoError(t, l.Close())
		standing(0)
	}
}

// If the first waiter in the queue dies, a released lock stays blocked for the waiters behind it until the dead
// waiter's session ends. The dead waiter's session ends after nine eighths of the waiter's TTL, plus the time that
// etcd needs to notice.
func TestAWaiterThatDiesAtTheHead(t *testing.T) { onOneNode(t, aWaiterThatDiesAtTheHead) }

func TestCompatAWaiterThatDiesAtTheHead(t *testing.T) { onThreeNodes(t, aWaiterThatDiesAtTheHead) }

func aWaiterThatDiesAtTheHead(t *testing.T, n *network) {
	held, err := n.watching.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	dying, err := n.open()
	require.NoError(t, err)
	brief := request("a")
	brief.TTL = 2 * time.Second
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

// A leader is suspended for longer than a lease. When it continues, it revokes leases that the new leader has renewed
// (seen in etcd 3.7.3). Trust in the locks of a revoked lease ends when etcd deletes their keys. It ends although this
// test sends no renewal.
func TestCompatALeaderThatIsContinued(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	c := cluster(t)
	for range 30 { // a trial may pass without a revoked lease, so repeat it
		if stopAndContinue(t, c) {
			return
		}
	}
	t.Fatal("no lease was revoked: correct docs/etcd.md")
}

// stopAndContinue suspends the leader for longer than the TTL of a lease, while clients renew leases on the other
// nodes. It reports whether the leader revoked any lease after it continued.
func stopAndContinue(t *testing.T, c *testserver.EtcdCluster) bool {
	t.Helper()
	const ttl = 2 * time.Second
	stopped, root := leader(t, c), "test-"+driver.NewNonce().String()
	reached := others(c, stopped)
	client := connect(t, reached...)
	holders := make([]*holder, 0, 60) // the old leader does not revoke the newest sessions, so make many
	for i := range cap(holders) {
		h := &holder{Backend: etcdlock.New(client, etcdlock.Prefix(root))} // each holder has a session of its own
		r := request(fmt.Sprint(i))
		r.TTL = ttl
		g, err := h.Acquire(t.Context(), r)
		require.NoError(t, err)
		h.grant, h.session, h.entry = g, g.Session, h.EntryOf(g.Nonce)
		holders = append(holders, h)
	}
	renew := func() (all bool) {
		var group errgroup.Group
		for _, h := range holders {
			group.Go(func() error {
				ctx, cancel := context.WithTimeout(t.Context(), ttl)
				defer cancel()
				outcomes, err := h.Renew(ctx, []driver.Grant{h.grant})
				if err == nil && outcomes[0] != driver.Renewed {
					return driver.ErrNotHeld
				}
				return err
			})
		}
		return group.Wait() == nil
	}
	stopped.Pause()
	defer stopped.Continue()
	for since := time.Now(); time.Since(since) < 2*ttl || !renew(); { // the time for which the leader is suspended
		renew()
		if slices.ContainsFunc(holders, (*holder).isOver) { // the other nodes could not renew the lease in time
			return false
		}
	}
	stopped.Continue()
	revoked := 0
	for over := time.Now().Add(ttl / 2); time.Now().Before(over); { // a lease that ends within half a TTL was revoked although it had been renewed
		reply, err := client.Get(t.Context(), root, clientv3.WithPrefix(), clientv3.WithKeysOnly())
		require.NoError(t, err)
		if time.Now().After(over) {
			break
		}
		stands := make(map[string]bool)
		for _, kv := range reply.Kvs {
			stands[string(kv.Key)] = true
		}
		for _, h := range holders {
			if !stands[h.entry] {
				requireOver(t, h.session, "the continued leader revoked its lease")
				revoked++
			}
		}
		if revoked > 0 {
			t.Logf("%d of %d leases were revoked", revoked, len(holders))
			return true
		}
	}
	return false
}

type holder struct {
	*etcdlock.Backend

	grant   driver.Grant
	entry   string
	session context.Context //nolint:containedctx // the context of the session
}

func (h *holder) isOver() bool { return h.session.Err() != nil }
