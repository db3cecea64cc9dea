package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/redlock"
)

// redlockTTL is the TTL of the leases, and also the backend's MaxTTL. It is short, because a new server grants locks
// only after MaxTTL has passed. It waits because it may have lost its data, including a lease that has not ended yet.
const redlockTTL = 3 * time.Second

// redlockStore is a number of independent Redis servers in memory.
func redlockStore(id, title string, servers int) store {
	row := ours("Redlock, TTL 3 s", "", func(_ context.Context, at []string) (driver.Backend, func(), error) {
		nodes, leave, err := openNodes(at)
		if err != nil {
			return nil, nil, err
		}
		return redlock.New(nodes, redlock.MaxTTL(redlockTTL), redlock.NodeTimeout(redlockTTL/6)), leave, nil
	})
	row.ttl = redlockTTL
	s := store{
		id: id, title: title, product: "Redis",
		serve: func(ctx context.Context, w *world) ([]string, error) {
			return w.started(ctx, id, testserver.Redis, servers, testserver.Options{})
		},
		counted: "requests", count: countRequests, version: redisVersion,
		many: []string{row.name}, modules: []string{"github.com/redis/go-redis/v9", "github.com/go-redsync/redsync/v4"},
		locks: []lock{
			row,
			{name: "redsync, every 50 to 250 ms", kind: report.Peer, open: func(_ context.Context, at []string, t task) (*party, error) {
				if t.TTL == 0 {
					t.TTL = 30 * time.Second
				}
				nodes, leave, err := openNodes(at)
				if err != nil {
					return nil, err
				}
				return gather(t.Members, leave, redsyncMember(t, nodes...))
			}},
		},
	}
	s.prepare = func(ctx context.Context, at []string) error { // a server grants locks only after one full TTL from its first request
		p, err := row.join(ctx, at, task{Name: "prepare", Members: 1})
		if err != nil {
			return err
		}
		defer p.close()
		return p.cycle(ctx)
	}
	return s
}

func openNodes(at []string) (nodes []*redis.Client, leave func(), err error) {
	leave = func() {
		for _, n := range nodes {
			_ = n.Close()
		}
	}
	for _, url := range at {
		client, err := openRedis(url)
		if err != nil {
			leave()
			return nil, nil, err
		}
		nodes = append(nodes, client)
	}
	return nodes, leave, nil
}
