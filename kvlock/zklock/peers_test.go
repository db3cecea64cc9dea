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

// noOrphanAtTheHeadOfTheQueue: after a lost reply, the node of an abandoned request does not stay at the head of the
// queue, although other locks keep the session alive. (Another lock library looks for the node without a sync, and only
// while the call is still waiting.)
func noOrphanAtTheHeadOfTheQueue(t *testing.T, n *network) {
	b, err := n.open()
	require.NoError(t, err)
	kept, err := b.Acquire(t.Context(), request("kept"))
	require.NoError(t, err)
	warm, err := b.Acquire(t.Context(), request("a")) // creates the lock's node first
	require.NoError(t, err)
	require.NoError(t, b.Release(t.Context(), warm))
	renewed := func() bool {
		outcomes, err := b.Renew(t.Context(), []driver.Grant{kept})
		return err == nil && outcomes[0] == driver.Renewed
	}
	for _, fate := range []faultproxy.AfterDrop{faultproxy.Reset, faultproxy.Hang} {
		require.Eventually(t, renewed, 30*time.Second, 10*time.Millisecond, "the client has reconnected")
		r := request("a")
		require.NoError(t, n.each(b, func(p *faultproxy.Proxy) { p.DropReplies(1, fate) }))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err = enter(ctx, b, r)
		cancel()
		if err == nil { // a retry found the node in time
			require.Equal(t, faultproxy.Reset, fate)
			require.NoError(t, b.Release(t.Context(), driver.Grant{Key: r.Key, Nonce: r.Nonce}))
			continue
		}
		if driver.IsNotApplied(err) {
			require.Zero(t, entries(t, n, r.Key), "%v", err)
			continue
		}
		require.Eventually(t, func() bool { return entries(t, n, r.Key) == 0 }, 30*time.Second, 5*time.Millisecond, "the node is deleted without a further request")
	}
	require.Eventually(t, renewed, 30*time.Second, 10*time.Millisecond)
}

// lostReplyIsFound: if a request is repeated after its reply was lost, the repetition is granted the lock with the node
// that the first attempt created. It creates no second node.
func lostReplyIsFound(t *testing.T, n *network) {
	b, err := n.open()
	require.NoError(t, err)
	_, err = b.Acquire(t.Context(), request("warm"))
	require.NoError(t, err)
	r := request("warm2")
	_, err = b.Acquire(t.Context(), r) // creates the lock's node first
	require.NoError(t, err)
	require.NoError(t, b.Release(t.Context(), driver.Grant{Key: r.Key, Nonce: r.Nonce}))
	r.Nonce = driver.NewNonce()
	require.NoError(t, n.DropReply(b)) // the backend knows the queue to be empty, so its next request creates the node
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
	require.NoError(t, b.Release(t.Context(), g), "the retry of a release succeeds, although the first attempt already deleted the node")
}

// releaseAfterLossIsNoSuccess: if the session was lost and another client holds the lock, Release returns an error and
// does not delete the node of that client. (In another lock library, Unlock returns nil.)
func releaseAfterLossIsNoSuccess(t *testing.T, n *network) {
	b, err := n.open()
	require.NoError(t, err)
	lease, err := lockerOn(t, b).Acquire(t.Context(), "a")
	require.NoError(t, err)
	require.NoError(t, n.Cut(b)) // cuts the holder off, so that it does not notice the end of its session
	require.NoError(t, n.Expire(t.Context(), driver.Key{Name: "a"}))
	next, err := lockerOn(t, n.watching).Acquire(t.Context(), "a")
	require.NoError(t, err)
	require.NoError(t, lease.Err())
	require.NoError(t, n.Restore(b))
	require.ErrorIs(t, lease.Release(t.Context()), rowlock.ErrLost)
	require.NoError(t, next.Renew(t.Context()))
}

// namesArePrefixesOfNone: a lock on job/1 does not block job, and a lock on job does not block job/1. All names are
// allowed, also names that have another meaning in ZooKeeper.
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

// The servers remove the node of a free lock, so the version of a new node starts again. Tokens still rise. A backend
// that remembers the old version is not granted a lock that another client holds at the same version.
func TestAnEmptyLockIsClearedAway(t *testing.T) {
	s := clearing.alone(t)
	where := root()
	a, b := open(t, []string{s.DSN}, where), open(t, []string{s.DSN}, where)
	direct := connect(t, usualSession, s.DSN)
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
	require.EqualValues(t, 1, stat.Version, "the version is the same as after the first grant")
	var held *driver.Held
	_, err = a.Acquire(t.Context(), request("a"))
	require.ErrorAs(t, err, &held)
	require.Equal(t, second.Token, held.Token)
	children, _, err := direct.Children(a.Container(r.Key))
	require.NoError(t, err)
	require.Len(t, children, 1, "a refusal leaves nothing behind")
}

// Programs that use ZooKeeper's own lock recipe on a lock's node wait in the same queue.
func TestForeignNodesStandInTheQueue(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	key := driver.Key{Name: "a"}
	g, err := n.watching.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	theirs := zk.NewLock(n.direct, n.watching.Container(key), zk.WorldACL(zk.PermAll))
	locked := make(chan error, 1)
	go func() { locked <- theirs.Lock() }()
	require.Eventually(t, func() bool { return entries(t, n, key) == 2 }, 30*time.Second, time.Millisecond)
	waits := queued(t, n, n.watching, t.Context(), request("a"))
	require.NoError(t, n.watching.Release(t.Context(), g))
	require.NoError(t, <-locked)
	require.Empty(t, waits)
	require.NoError(t, theirs.Unlock())
	require.NoError(t, <-waits)
}

// If a request has an option that ZooKeeper cannot keep, the error names the option. If an option of New is invalid,
// the error names that option.
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
