package zklock_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

// blackHoles cuts clients off from all servers. Each holder's context must end before the name is granted again.
func blackHoles(t *testing.T, servers []string) {
	t.Helper()
	n := newNetwork(t, servers...)
	faultnet.BlackHoles(t, lockerOn(t, n.watching), func(name string) (*rowlock.Lease, func() error, error) {
		b, err := n.open()
		if err != nil {
			return nil, nil, err
		}
		return atLast(t, lockerOn(t, b, rowlock.TTL(time.Second)), name), func() error { return n.Cut(b) }, nil
	})
}

func servers(c *testserver.ZooKeeperEnsemble) (all []string) {
	for _, n := range c.Nodes {
		all = append(all, n.DSN)
	}
	return all
}

func leader(t *testing.T, c *testserver.ZooKeeperEnsemble) (found *testserver.ZooKeeperNode) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, n := range c.Nodes {
			if leads, err := n.Leads(t.Context()); err == nil && leads {
				found = n
			}
		}
		return found != nil
	}, 20*time.Second, 20*time.Millisecond)
	return found
}

func lockerOn(tb testing.TB, b driver.Backend, opts ...rowlock.Option) *rowlock.Locker {
	tb.Helper()
	l, err := rowlock.New(b, opts...)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

// atLast acquires a free name. It retries for 20 seconds, because loaded servers may take long to make a session.
func atLast(t *testing.T, l *rowlock.Locker, name string) (lease *rowlock.Lease) {
	t.Helper()
	require.Eventually(t, func() (ok bool) {
		var err error
		lease, err = l.Acquire(t.Context(), name)
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	return lease
}

func follower(t *testing.T, c *testserver.ZooKeeperEnsemble) *testserver.ZooKeeperNode {
	t.Helper()
	leads := leader(t, c)
	return c.Nodes[(slices.Index(c.Nodes, leads)+1)%len(c.Nodes)]
}

func request(name string) driver.Request {
	return driver.Request{Key: driver.Key{Name: name}, Nonce: driver.NewNonce(), TTL: 20 * time.Second, Holder: "test"}
}

// share returns a request for a share.
func share(name string) driver.Request {
	r := request(name)
	r.Shared = true
	return r
}

// entries returns how many entries the queue of key has, including the holder's.
func entries(tb testing.TB, n *network, key driver.Key) int {
	tb.Helper()
	q, err := n.queue(key)
	require.NoError(tb, err)
	return len(q)
}

// watching returns how many watches the servers have on nodes in key's queue. Each waiter has one watch, on the
// node before its own.
func watching(tb testing.TB, n *network, key driver.Key) (all int) {
	tb.Helper()
	for _, s := range n.servers {
		all += watches(tb, s, n.watching.Container(key))
	}
	return all
}

// watched waits until the nodes in key's queue have the wanted number of watches.
func watched(t *testing.T, n *network, key driver.Key, want int) {
	t.Helper()
	require.Eventually(t, func() bool { return watching(t, n, key) == want }, time.Minute, 5*time.Millisecond)
}

// enter waits in the queue until the lock is granted or ctx ends.
func enter(ctx context.Context, b *zklock.Backend, r driver.Request) (driver.Grant, error) {
	return b.Await(ctx, r, func(*driver.Held) context.Context { return ctx })
}

// queued starts a waiter, and returns when its node is in the queue. The channel receives the waiter's error or nil.
func queued(t *testing.T, n *network, b *zklock.Backend, ctx context.Context, r driver.Request) <-chan error { //nolint:revive // ctx is what the test is about
	t.Helper()
	before := entries(t, n, r.Key)
	done := make(chan error, 1)
	go func() {
		_, err := enter(ctx, b, r)
		done <- err
	}()
	require.Eventually(t, func() bool { return entries(t, n, r.Key) > before }, 30*time.Second, time.Millisecond)
	return done
}
