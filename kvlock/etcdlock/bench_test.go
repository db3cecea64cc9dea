package etcdlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// BenchmarkAcquireRelease compares acquire and release of a free name with two bare commits. It also measures the mutex
// of etcd's own client library, on a session that stays open.
func BenchmarkAcquireRelease(b *testing.B) {
	s := counted(b)
	client := connect(b, s.DSN)
	ctx := context.Background()
	measure := func(name string, once func() error) {
		b.Run(name, func(b *testing.B) {
			require.NoError(b, once()) // the first call opens the session and the connection
			before, n := metric(b, s.DSN, commits), 0
			for b.Loop() {
				if err := once(); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(float64(metric(b, s.DSN, commits)-before)/float64(n), "commits/op")
		})
	}
	measure("bare-commits", func() error {
		if _, err := client.Txn(ctx).Then(clientv3.OpPut("bare", "x")).Commit(); err != nil {
			return err
		}
		_, err := client.Txn(ctx).Then(clientv3.OpDelete("bare")).Commit()
		return err
	})
	locks := etcdlock.New(client)
	measure("etcdlock", func() error {
		g, err := inQueue(locks, ctx, request("a")) // waits in the queue, as Locker.Acquire does
		if err != nil {
			return err
		}
		return locks.Release(ctx, g)
	})
	session, err := concurrency.NewSession(client)
	require.NoError(b, err)
	defer session.Close()
	measure("concurrency-mutex", func() error {
		m := concurrency.NewMutex(session, "mutex")
		if err := m.Lock(ctx); err != nil {
			return err
		}
		return m.Unlock(ctx)
	})
}

// BenchmarkHandOver measures a hand-over to a waiter of another client, from the start of the release to the grant.
func BenchmarkHandOver(b *testing.B) {
	s := counted(b)
	clients := [...]*clientv3.Client{connect(b, s.DSN), connect(b, s.DSN)}
	ctx := context.Background()
	b.Run("etcdlock", func(b *testing.B) {
		locks := [...]*etcdlock.Backend{etcdlock.New(clients[0]), etcdlock.New(clients[1])}
		key := request("h").Key
		g, err := locks[1].Acquire(ctx, request("h"))
		require.NoError(b, err)
		require.NoError(b, locks[1].Release(ctx, g))
		g, err = locks[0].Acquire(ctx, request("h"))
		require.NoError(b, err)
		for metric(b, s.DSN, watches) != 2 { // wait until both sessions are watched
		}
		handOver(b, s.DSN, clients[0], locks[0].Queue(key), func(i int) error { return locks[i%2].Release(ctx, g) }, func(i int) (err error) {
			var next driver.Grant
			if next, err = inQueue(locks[(i+1)%2], ctx, request("h")); err == nil {
				g = next
			}
			return err
		})
		require.NoError(b, locks[0].Release(ctx, g))
	})
	b.Run("concurrency-mutex", func(b *testing.B) {
		var mutexes [2]*concurrency.Mutex
		for i, c := range clients {
			session, err := concurrency.NewSession(c)
			require.NoError(b, err)
			defer session.Close()
			mutexes[i] = concurrency.NewMutex(session, "h")
		}
		require.NoError(b, mutexes[0].Lock(ctx))
		handOver(b, s.DSN, clients[0], "h/", func(i int) error { return mutexes[i%2].Unlock(ctx) }, func(i int) error { return mutexes[(i+1)%2].Lock(ctx) })
	})
}

// handOver measures b.N hand-overs. Each waiter is in the queue before the holder releases.
func handOver(b *testing.B, dsn string, client *clientv3.Client, queue string, release, acquire func(int) error) {
	var total time.Duration
	n, standing := 0, metric(b, dsn, watches)
	for b.Loop() {
		got := make(chan error, 1)
		go func(i int) { got <- acquire(i) }(n)
		for {
			reply, err := client.Get(context.Background(), queue, clientv3.WithPrefix(), clientv3.WithCountOnly())
			require.NoError(b, err)
			if reply.Count == 2 {
				break
			}
		}
		for metric(b, dsn, watches) == standing { // wait until the waiter's watch exists
		}
		began := time.Now()
		require.NoError(b, release(n))
		require.NoError(b, <-got)
		total += time.Since(began)
		n++
	}
	b.ReportMetric(float64(total.Microseconds())/float64(n), "µs/handover")
}
