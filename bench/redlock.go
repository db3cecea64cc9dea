package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/redlock"
)

// redlockStore is a number of independent Redis servers in memory.
func redlockStore(id, title string, servers int) store {
	row := ours("Redlock", "", func(_ context.Context, at []string) (driver.Backend, func(), error) {
		nodes, leave, err := openNodes(at)
		if err != nil {
			return nil, nil, err
		}
		return redlock.New(nodes), leave, nil
	})
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
	s.prepare = func(ctx context.Context, at []string) error {
		locker, leave, err := row.locker(ctx, at)
		if err != nil {
			return err
		}
		defer leave()
		if _, err := locker.TryAcquire(ctx, "prepare"); !errors.Is(err, rowlock.ErrHeld) {
			return fmt.Errorf("a new server voted: %w", err)
		}
		if err := ageNodes(ctx, at); err != nil {
			return err
		}
		lease, err := locker.Acquire(ctx, "prepare")
		if err != nil {
			return err
		}
		return lease.Release(ctx)
	}
	return s
}

// ageNodes makes the servers vote as if they had run for a long time. A new server does not vote for 66 s, because it
// may have lost leases.
func ageNodes(ctx context.Context, at []string) error {
	nodes, leave, err := openNodes(at)
	if err != nil {
		return err
	}
	defer leave()
	for _, n := range nodes {
		if err := n.HSet(ctx, redlock.DefaultPrefix+"node", "since", 0).Err(); err != nil {
			return err
		}
	}
	return nil
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
