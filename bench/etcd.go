package main

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

const bareEtcd = "put and delete"

// etcdStore returns etcd as a store. A single node is the one from the environment. For several nodes,
// the benchmark starts its own cluster.
func etcdStore(nodes int) store {
	s := store{
		id: "etcd", title: "etcd, one node", product: "etcd", serve: environment(testserver.Etcd),
		counted: "commits", count: countEtcd, version: etcdVersion,
		many: []string{"etcd"}, modules: []string{"go.etcd.io/etcd/client/v3"},
		locks: []lock{
			{name: bareEtcd, kind: report.Floor, floor: bareEtcd, alone: true, open: etcdBare},
			ours("etcd", bareEtcd, func(_ context.Context, at []string) (driver.Backend, func(), error) {
				client, err := openEtcd(at)
				if err != nil {
					return nil, nil, err
				}
				return etcdlock.New(client), func() { _ = client.Close() }, nil
			}),
			// Two mutexes of one session do not exclude each other. So each member needs its own session, and the
			// cluster has to keep more sessions alive.
			{name: "concurrency.Mutex, a session each", kind: report.Peer, floor: bareEtcd, most: 150, keeps: true, open: etcdMutex},
		},
	}
	if nodes > 1 {
		s.nodes = nodes
		s.id, s.title = fmt.Sprintf("etcd%d", nodes), fmt.Sprintf("etcd, %d nodes", nodes)
		s.serve = func(ctx context.Context, w *world) ([]string, error) {
			return w.once(s.id, func() (at []string, stop func(), err error) {
				cluster, err := testserver.StartEtcdCluster(ctx, nodes, testserver.Options{Durable: true})
				if err != nil {
					return nil, nil, err
				}
				for _, n := range cluster.Nodes {
					at = append(at, n.DSN)
				}
				return at, cluster.Stop, nil
			})
		}
	}
	return s
}

func openEtcd(at []string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: at, Logger: zap.NewNop(), DialKeepAliveTime: 10 * time.Second})
}

// etcdBare is the floor of etcd: the two commits that any lock needs at least.
func etcdBare(_ context.Context, at []string, t task) (*party, error) {
	client, err := openEtcd(at)
	if err != nil {
		return nil, err
	}
	return single(func() { _ = client.Close() }, func(ctx context.Context) error {
		_, err := client.Put(ctx, t.Name, driver.NewNonce().String())
		return err
	}, func(ctx context.Context) error {
		_, err := client.Delete(ctx, t.Name)
		return err
	}), nil
}

func etcdMutex(ctx context.Context, at []string, t task) (*party, error) {
	client, err := openEtcd(at)
	if err != nil {
		return nil, err
	}
	var sessions []*concurrency.Session
	leave := func() {
		for _, s := range sessions {
			_ = s.Close()
		}
		_ = client.Close()
	}
	ttl := 60
	if t.TTL > 0 {
		ttl = max(1, int(t.TTL.Seconds()))
	}
	return gather(t.Members, leave, func() (acquirer, error) {
		session, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
		if err != nil {
			return nil, err
		}
		sessions = append(sessions, session)
		mutex := concurrency.NewMutex(session, t.Name)
		return func(ctx context.Context) (held, error) {
			return held{release: mutex.Unlock, lost: session.Done()}, mutex.Lock(ctx)
		}, nil
	})
}
