package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

// noOrphanAtTheHeadOfTheQueue: an acquisition whose reply was lost, and that is given up, is not left at
// the head of the queue while its session lives on with other locks. (A peer's looks for it without a sync,
// and only in the call that is still waiting.)
func noOrphanAtTheHeadOfTheQueue(t *testing.T, n *network) {
	b, err := n.open()
	require.NoError(t, err)
	kept, err := b.Acquire(t.Context(), request("kept"))
	require.NoError(t, err)
	warm, err := b.Acquire(t.Context(), request("a")) // its lock's node is made
	require.NoError(t, err)
	require.NoError(t, b.Release(t.Context(), warm))
	renewed := func() bool {
		outcomes, err := b.Renew(t.Context(), []driver.Grant{kept})
		return err == nil && outcomes[0] == driver.Renewed
	}
	for _, fate := range []faultproxy.AfterDrop{faultproxy.Reset, faultproxy.Hang} {
		require.Eventually(t, renewed, 10*time.Second, 10*time.Millisecond, "it is connected")
		r := request("a")
		require.NoError(t, n.each(b, func(p *faultproxy.Proxy) { p.DropReplies(1, fate) }))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err = enter(ctx, b, r)
		cancel()
		if err == nil { // it was found again in time
			require.Equal(t, faultproxy.Reset, fate)
			require.NoError(t, b.Release(t.Context(), driver.Grant{Key: r.Key, Nonce: r.Nonce}))
			continue
		}
		if driver.IsNotApplied(err) {
			require.Zero(t, entries(t, n, r.Key), "%v", err)
			continue
		}
		require.Eventually(t, func() bool { return entries(t, n, r.Key) == 0 }, 10*time.Second, 5*time.Millisecond, "nobody asks for it any more, and it is taken back all the same")
	}
	require.Eventually(t, renewed, 10*time.Second, 10*time.Millisecond)
}

// aLostReplyIsFoundAgain: a request that was sent again after its reply was lost is granted the node that
// the first one has left, and no other is made.
func aLostReplyIsFoundAgain(t *testing.T, n *network) {
	b, err := n.open()
	require.NoError(t, err)
	_, err = b.Acquire(t.Context(), request("warm"))
	require.NoError(t, err)
	r := request("warm2")
	_, err = b.Acquire(t.Context(), r) // its lock's node is made
	require.NoError(t, err)
	require.NoError(t, b.Release(t.Context(), driver.Grant{Key: r.Key, Nonce: r.Nonce}))
	r.Nonce = driver.NewNonce()
	require.NoError(t, n.DropReply(b)) // nobody stood there since: the first request is the one that creates
	g, err := b.Acquire(t.Context(), r)
	require.NoError(t, err)
	q, err := n.queue(r.Key)
	require.NoError(t, err)
	require.Len(t, q, 1)
	_, stat, err := n.head(r.Key)
	require.NoError(t, err)
	require.EqualValues(t, stat.Czxid, g.Token)
	again, err := b.Acquire(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, g, again)
	require.NoError(t, n.DropReply(b))
	require.NoError(t, b.Release(t.Context(), g), "a release whose reply was lost does not take its own effect for a loss")
}

// releaseAfterLossIsNoSuccess: release after the session was lost, and another holds the lock, says so and
// does not touch the other's. (A peer's Unlock returns nil.)
func releaseAfterLossIsNoSuccess(t *testing.T, n *network) {
	b, err := n.open()
	require.NoError(t, err)
	lease, err := lockerOn(t, b).Acquire(t.Context(), "a")
	require.NoError(t, err)
	require.NoError(t, n.Cut(b)) // so that it does not hear of it
	require.NoError(t, n.Expire(t.Context(), driver.Key{Name: "a"}))
	next, err := lockerOn(t, n.watching).Acquire(t.Context(), "a")
	require.NoError(t, err)
	require.NoError(t, lease.Err())
	require.NoError(t, n.Restore(b))
	require.ErrorIs(t, lease.Release(t.Context()), rowlock.ErrLost)
	require.NoError(t, next.Renew(t.Context()))
}

// namesArePrefixesOfNone: a name is no name's beginning: job/1 being held, job is free, and the other way
// round; and any name is legal, also those that ZooKeeper has other uses for.
func namesArePrefixesOfNone(t *testing.T, n *network) {
	b := n.watching
	for _, name := range []string{"job/1", "job", "job/", "job/1/", "job%2F1", "%", ".", "..", "zookeeper", "locks", "\x01", "🔒", "lock-0000000000"} {
		_, err := b.Acquire(t.Context(), request(name))
		require.NoError(t, err, name)
	}
}

// oneSessionHoldsANameOnce: two acquisitions on one session exclude each other.
func oneSessionHoldsANameOnce(t *testing.T, n *network) {
	b := n.watching
	_, err := b.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	var held *driver.Held
	_, err = b.Acquire(t.Context(), request("a"))
	require.ErrorAs(t, err, &held)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = enter(ctx, b, request("a"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// The servers clear away the node of a lock that stands empty, and count its writings anew. Tokens rise
// all the same, and whoever remembers the old count is not granted what another holds.
func TestAnEmptyLockIsClearedAway(t *testing.T) {
	t.Parallel()
	s := alone(t, "-Dznode.container.checkIntervalMs=50")
	where := root()
	a, b := open(t, []string{s.DSN}, where), open(t, []string{s.DSN}, where)
	direct := connect(t, s.DSN)
	r := request("a")
	first, err := a.Acquire(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, a.Release(t.Context(), first))
	require.Eventually(t, func() bool {
		found, _, err := direct.Exists(a.Container(r.Key))
		return err == nil && !found
	}, 20*time.Second, 10*time.Millisecond)
	second, err := b.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	require.Greater(t, second.Token, first.Token)
	_, stat, err := direct.Get(a.Container(r.Key))
	require.NoError(t, err)
	require.EqualValues(t, 1, stat.Version, "as after the first grant")
	var held *driver.Held
	_, err = a.Acquire(t.Context(), request("a"))
	require.ErrorAs(t, err, &held)
	require.Equal(t, second.Token, held.Token)
	children, _, err := direct.Children(a.Container(r.Key))
	require.NoError(t, err)
	require.Len(t, children, 1, "a refusal leaves nothing behind")
}

// Another program's nodes below a lock, as ZooKeeper's own recipe for locks makes them, stand in the same
// queue.
func TestForeignNodesStandInTheQueue(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	key := driver.Key{Name: "a"}
	g, err := n.watching.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	theirs := zk.NewLock(n.direct, n.watching.Container(key), zk.WorldACL(zk.PermAll))
	locked := make(chan error, 1)
	go func() { locked <- theirs.Lock() }()
	require.Eventually(t, func() bool { return entries(t, n, key) == 2 }, 10*time.Second, time.Millisecond)
	waits := queued(t, n, n.watching, t.Context(), request("a"))
	require.NoError(t, n.watching.Release(t.Context(), g))
	require.NoError(t, <-locked)
	require.Empty(t, waits)
	require.NoError(t, theirs.Unlock())
	require.NoError(t, <-waits)
}

// An option that ZooKeeper cannot keep is refused by its name, as is one that cannot work.
func TestWhatZooKeeperCannotKeepIsRefused(t *testing.T) {
	t.Parallel()
	l := lockerOn(t, open(t, []string{server(t)}, root()))
	_, err := l.TryAcquire(t.Context(), "a", rowlock.MinHold(time.Second))
	require.ErrorContains(t, err, "MinHold")
	_, err = l.TryAcquire(t.Context(), "a", rowlock.HandoverDelay(time.Second))
	require.ErrorContains(t, err, "HandoverDelay")
	for field, b := range map[string]*zklock.Backend{
		"servers": zklock.New(nil), "Root": zklock.New([]string{"h"}, zklock.Root("a/")), "Dialer": zklock.New([]string{"h"}, zklock.Dialer(nil)),
		"ACL": zklock.New([]string{"h"}, zklock.ACL()),
	} {
		_, err = rowlock.New(b)
		require.ErrorContains(t, err, field)
	}
}
