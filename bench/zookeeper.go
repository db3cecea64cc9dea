package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

const bareZooKeeper = "create and delete"

var anybody = zk.WorldACL(zk.PermAll)

// zooKeeperStore returns ZooKeeper as a store. A single server is the one from the environment. For several servers,
// the benchmark starts its own ensemble.
func zooKeeperStore(servers int) store {
	s := store{
		id: "zookeeper", title: "ZooKeeper, one server", product: "ZooKeeper", serve: environment(testserver.ZooKeeper), prepare: prepareZooKeeper,
		counted: "commits", count: countZooKeeper, version: zooKeeperVersion,
		many: []string{"ZooKeeper"}, modules: []string{"github.com/go-zookeeper/zk"},
		locks: []lock{
			{name: bareZooKeeper, kind: report.Floor, floor: bareZooKeeper, alone: true, open: zooKeeperBare},
			ours("ZooKeeper", bareZooKeeper, func(_ context.Context, at []string) (driver.Backend, func(), error) {
				backend := zklock.New(at)
				return backend, backend.Close, nil
			}),
			// The Lock of go-zookeeper ignores ctx. So a waiter of this lock cannot give up at the end of a
			// measurement. Each waiter still acquires the lock once.
			{name: "go-zookeeper's Lock", kind: report.Peer, floor: bareZooKeeper, most: 150, keeps: true, open: zooKeeperLock},
		},
	}
	if servers > 1 {
		s.nodes, s.apart = servers, true
		s.id, s.title = fmt.Sprintf("zookeeper%d", servers), fmt.Sprintf("ZooKeeper, %d servers", servers)
		s.serve = func(ctx context.Context, w *world) ([]string, error) {
			return w.once(s.id, func() (at []string, stop func(), err error) {
				ensemble, err := testserver.StartZooKeeperEnsemble(ctx, servers, testserver.Options{Durable: true})
				if err != nil {
					return nil, nil, err
				}
				for _, n := range ensemble.Nodes {
					at = append(at, n.DSN)
				}
				return at, ensemble.Stop, nil
			})
		}
	}
	return s
}

// openZooKeeper connects, and returns when the session exists.
func openZooKeeper(ctx context.Context, at []string, timeout time.Duration) (*zk.Conn, error) {
	if timeout == 0 {
		timeout = 10 * time.Second
	}
	conn, events, err := zk.Connect(at, timeout, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	if err != nil {
		return nil, err
	}
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return conn, nil
			}
		case <-ctx.Done():
			conn.Close()
			return nil, ctx.Err()
		}
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// prepareZooKeeper creates the parent node of the bare nodes.
func prepareZooKeeper(ctx context.Context, at []string) error {
	conn, err := openZooKeeper(ctx, at, 0)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Create("/bench", nil, 0, anybody); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	return nil
}

// zooKeeperBare is the floor of ZooKeeper: the two commits that any lock needs at least.
func zooKeeperBare(ctx context.Context, at []string, _ task) (*party, error) {
	conn, err := openZooKeeper(ctx, at, 0)
	if err != nil {
		return nil, err
	}
	var path string
	return single(conn.Close, func(context.Context) (err error) {
		path, err = conn.Create("/bench/bare-", []byte(driver.NewNonce().String()), zk.FlagEphemeral|zk.FlagSequence, anybody)
		return err
	}, func(context.Context) error { return conn.Delete(path, -1) }), nil
}

func zooKeeperLock(ctx context.Context, at []string, t task) (*party, error) {
	conn, err := openZooKeeper(ctx, at, t.TTL)
	if err != nil {
		return nil, err
	}
	return gather(t.Members, conn.Close, func() (acquirer, error) {
		lock := zk.NewLock(conn, "/bench/lock-"+t.Name, anybody)
		return func(context.Context) (held, error) {
			return held{release: func(context.Context) error { return lock.Unlock() }}, lock.Lock()
		}, nil
	})
}
