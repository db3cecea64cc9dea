package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

const (
	bareRedis = "`SET NX PX` and compare-delete"
	baton     = "a baton: BLPOP and RPUSH"
)

// redisStore is a Redis that keeps everything in memory.
func redisStore() store {
	return store{
		id: "redis", title: "Redis in memory", product: "Redis",
		serve: func(ctx context.Context, w *world) ([]string, error) {
			return w.started(ctx, "redis", testserver.Redis, 1, testserver.Options{})
		},
		counted: "requests", count: countRequests, version: redisVersion,
		many:    []string{"one server"},
		modules: []string{"github.com/redis/go-redis/v9", "github.com/bsm/redislock", "github.com/go-redsync/redsync/v4", "github.com/redis/rueidis"},
		locks: []lock{
			byRedis(lock{name: bareRedis, kind: report.Floor, floor: bareRedis, alone: true}, setNX),
			byRedis(lock{name: baton, kind: report.Floor, floor: baton, most: 250}, passBaton),
			ours("one server", bareRedis, func(_ context.Context, at []string) (driver.Backend, func(), error) {
				client, err := openRedis(at[0])
				if err != nil {
					return nil, nil, err
				}
				return redislock.New(client), func() { _ = client.Close() }, nil
			}),
			byRedis(lock{name: "bsm/redislock, every 100 ms", kind: report.Peer, floor: bareRedis}, bsm),
			byRedis(lock{name: "redsync, every 50 to 250 ms", kind: report.Peer, floor: bareRedis},
				func(client *redis.Client, t task) func() (acquirer, error) { return redsyncMember(t, client) }),
			{name: "rueidislock, woken", kind: report.Peer, floor: bareRedis, keeps: true, count: countScripts, open: rueidisLock},
		},
	}
}

// durableRedisStore is a Redis that flushes its log to disk after each command.
func durableRedisStore() store {
	s := redisStore()
	s.id, s.title, s.serve = "redis-durable", "Redis, each command flushed", environment(testserver.Redis)
	return s
}

type silentRedis struct{}

func (silentRedis) Printf(context.Context, string, ...any) {}

func openRedis(url string) (*redis.Client, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	options.ContextTimeoutEnabled, options.PoolSize = true, poolLimit
	return redis.NewClient(options), nil
}

// byRedis sets how l is opened: all members of a process share one client.
func byRedis(l lock, member func(*redis.Client, task) func() (acquirer, error)) lock {
	l.open = func(_ context.Context, at []string, t task) (*party, error) {
		if t.TTL == 0 {
			t.TTL = 30 * time.Second
		}
		client, err := openRedis(at[0])
		if err != nil {
			return nil, err
		}
		return gather(t.Members, func() { _ = client.Close() }, member(client, t))
	}
	return l
}

var compareDelete = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)

// setNX is the floor of Redis: the two commands that any lock needs. Each acquire sets a new random value,
// as such locks do.
func setNX(client *redis.Client, t task) func() (acquirer, error) {
	return func() (acquirer, error) {
		return func(ctx context.Context) (held, error) {
			nonce := driver.NewNonce().String()
			ok, err := client.SetNX(ctx, t.Name, nonce, t.TTL).Result()
			if err == nil && !ok {
				err = errors.New("the lock is held")
			}
			return held{release: func(ctx context.Context) error { return compareDelete.Run(ctx, client, []string{t.Name}, nonce).Err() }}, err
		}, nil
	}
}

// passBaton is the fastest possible hand-over in Redis: the holder pushes an element to a list,
// and the server wakes the next waiter. If a holder dies, the element is lost and nobody can acquire the lock.
func passBaton(client *redis.Client, t task) func() (acquirer, error) {
	push := func(ctx context.Context) error { return client.RPush(ctx, t.Name, "baton").Err() }
	return func() (acquirer, error) {
		made, err := client.SetNX(context.Background(), t.Name+" made", 1, time.Hour).Result()
		if err == nil && made {
			err = push(context.Background())
		}
		return func(ctx context.Context) (held, error) {
			return held{release: push}, client.BLPop(ctx, time.Minute, t.Name).Err()
		}, err
	}
}
