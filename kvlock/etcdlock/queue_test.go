package etcdlock_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

func request(name string) driver.Request {
	return driver.Request{Key: driver.Key{Name: name}, Nonce: driver.NewNonce(), TTL: 20 * time.Second, Holder: "test"}
}

// reading returns a request for a share.
func reading(name string) driver.Request {
	r := request(name)
	r.Shared = true
	return r
}

// alone starts a server that only one test uses. That test reads the server's metrics or changes the whole server.
func alone(tb testing.TB, args ...string) *testserver.Server {
	tb.Helper()
	return aloneWith(tb, testserver.Options{Args: args})
}

func aloneWith(tb testing.TB, o testserver.Options) *testserver.Server {
	tb.Helper()
	server(tb) // skips the test if the launcher could not start a server
	o.Logf = tb.Logf
	s, err := testserver.Start(tb.Context(), testserver.Etcd, o)
	require.NoError(tb, err)
	tb.Cleanup(s.Stop)
	return s
}

// metric returns one of the server's metrics.
func metric(tb testing.TB, dsn, pattern string) int {
	tb.Helper()
	client := http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	reply, err := client.Get(dsn + "/metrics") //nolint:noctx // a test
	require.NoError(tb, err)
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	require.NoError(tb, err)
	found := regexp.MustCompile(`(?m)^` + pattern + ` (\S+)$`).FindSubmatch(text)
	require.NotNil(tb, found, pattern)
	n, err := strconv.ParseFloat(string(found[1]), 64)
	require.NoError(tb, err)
	return int(n)
}

const (
	txns    = `grpc_server_handled_total\{grpc_code="OK",grpc_method="Txn",grpc_service="etcdserverpb.KV",grpc_type="unary"\}`
	watches = `etcd_debugging_mvcc_watcher_total`
	commits = `etcd_server_proposals_committed_total`
	leads   = `etcd_server_has_leader`
)

// watchedBy calls the function begin, which starts a waiter, and returns the node that serves the waiter's watch.
// Before that, it waits until the holder's watch exists.
func watchedBy(t *testing.T, c *testserver.EtcdCluster, begin func()) (found *testserver.EtcdNode) {
	t.Helper()
	before := map[*testserver.EtcdNode]int{}
	require.Eventually(t, func() bool {
		sum := 0
		for _, n := range c.Nodes {
			before[n] = metric(t, n.DSN, watches)
			sum += before[n]
		}
		return sum == 1
	}, 20*time.Second, 10*time.Millisecond)
	begin()
	require.Eventually(t, func() bool {
		for _, n := range c.Nodes {
			if metric(t, n.DSN, watches) > before[n] {
				found = n
			}
		}
		return found != nil
	}, 20*time.Second, 10*time.Millisecond)
	return found
}

// others returns the endpoints of all nodes except one, the parameter except.
func others(c *testserver.EtcdCluster, except *testserver.EtcdNode) (all []string) {
	for _, n := range c.Nodes {
		if n != except {
			all = append(all, n.DSN)
		}
	}
	return all
}

// entries returns how many entries the queue of key has, including the holder's.
func entries(tb testing.TB, n *network, key driver.Key) int {
	tb.Helper()
	reply, err := n.direct.Get(tb.Context(), n.watching.Queue(key), clientv3.WithPrefix(), clientv3.WithCountOnly())
	require.NoError(tb, err)
	return int(reply.Count)
}

// queued starts a waiter, and returns when its entry is in the queue. The channel receives the waiter's error or nil.
func queued(t *testing.T, n *network, b *etcdlock.Backend, ctx context.Context, r driver.Request) <-chan error { //nolint:revive // ctx is what the test is about
	t.Helper()
	granted, done := queuedGrant(t, n, b, ctx, r), make(chan error, 1)
	go func() { done <- (<-granted).err }()
	return done
}

// When the holder of a lock dies, only the first of a hundred waiting processes wakes, and it sends one request. The
// other processes send none.
func TestOnlyOneOfAHundredWaitersWakes(t *testing.T) {
	everywhereAlone(t, func(t *testing.T, n *network) {
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
	})
}

// Waiters are granted the name in the order of their requests, across processes, with rising tokens.
func TestWaitersAreServedInOrder(t *testing.T) {
	everywhere(t, func(t *testing.T, n *network) {
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
	})
}

// If a waiter in the middle of the queue dies, the waiter behind it reads the queue, finds another entry before its
// own, and continues to wait. (Another lock library wrongly grants the lock in this case.)
func TestAWaiterThatDiesGrantsNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, n *network) {
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
	})
}

// A waiter notices a release even if etcd has compacted the revision from which the waiter watches. The waiter is cut
// off during the release and the compaction, so its watch must restart at a compacted revision.
func TestCompactionWhileWaiting(t *testing.T) {
	everywhereAlone(t, func(t *testing.T, n *network) {
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
	})
}
