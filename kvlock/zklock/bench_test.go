package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

// BenchmarkAcquireRelease compares acquire and release of a free name with two bare commits, and with the lock of
// ZooKeeper's Go client.
func BenchmarkAcquireRelease(b *testing.B) {
	s := patient.alone(b)
	conn := connect(b, usualSession, s.DSN)
	ctx := context.Background()
	measure := func(name string, once func() error) {
		b.Run(name, func(b *testing.B) {
			require.NoError(b, once()) // the first call opens the session and the connection, and creates the nodes
			before, n := commits(b, s.DSN), 0
			for b.Loop() {
				if err := once(); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(float64(commits(b, s.DSN)-before)/float64(n), "commits/op")
		})
	}
	measure("bare-commits", func() error {
		path, err := conn.Create("/bare", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if err != nil {
			return err
		}
		return conn.Delete(path, -1)
	})
	locks := open(b, []string{s.DSN})
	measure("zklock", func() error {
		g, err := locks.Acquire(ctx, request("a"))
		if err != nil {
			return err
		}
		return locks.Release(ctx, g)
	})
	lock := zk.NewLock(conn, "/lock", zk.WorldACL(zk.PermAll))
	measure("go-zookeeper-lock", func() error {
		if err := lock.Lock(); err != nil {
			return err
		}
		return lock.Unlock()
	})
}

// BenchmarkHandOver measures a hand-over to a waiter of another client, from the start of the release to the grant.
func BenchmarkHandOver(b *testing.B) {
	s := patient.alone(b)
	conns := [...]*zk.Conn{connect(b, usualSession, s.DSN), connect(b, usualSession, s.DSN)}
	ctx := context.Background()
	b.Run("zklock", func(b *testing.B) {
		locks := [...]*zklock.Backend{open(b, []string{s.DSN}), open(b, []string{s.DSN})}
		key := request("h").Key
		g, err := locks[0].Acquire(ctx, request("h"))
		require.NoError(b, err)
		handOver(b, s.DSN, conns[0], locks[0].Container(key), func(i int) error { return locks[i%2].Release(ctx, g) }, func(i int) (err error) {
			var next driver.Grant
			if next, err = enter(ctx, locks[(i+1)%2], request("h")); err == nil {
				g = next
			}
			return err
		})
	})
	b.Run("go-zookeeper-lock", func(b *testing.B) {
		var locks [2]*zk.Lock
		for i := range locks {
			locks[i] = zk.NewLock(conns[i], "/h", zk.WorldACL(zk.PermAll))
		}
		require.NoError(b, locks[0].Lock())
		handOver(b, s.DSN, conns[0], "/h", func(i int) error { return locks[i%2].Unlock() }, func(i int) error { return locks[(i+1)%2].Lock() })
	})
}

// handOver measures b.N hand-overs. Each waiter is in the queue before the holder releases.
func handOver(b *testing.B, addr string, conn *zk.Conn, queue string, release, acquire func(int) error) {
	var total time.Duration
	n := 0
	for b.Loop() {
		got := make(chan error, 1)
		go func(i int) { got <- acquire(i) }(n)
		for {
			children, _, err := conn.Children(queue)
			require.NoError(b, err)
			if len(children) == 2 {
				break
			}
		}
		for watches(b, addr, queue) == 0 { // wait for the watch, because the waiter reads the queue before it watches
		}
		began := time.Now()
		require.NoError(b, release(n))
		require.NoError(b, <-got)
		total += time.Since(began)
		n++
	}
	require.NoError(b, release(n))
	b.ReportMetric(float64(total.Microseconds())/float64(n), "µs/handover")
}
