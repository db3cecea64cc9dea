package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"

	peer "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

const redisTTL = 30 * time.Second

// redisServer is one that can be counted on.
type redisServer struct {
	name string
	url  string
}

// redisTables measures on a server that keeps everything in memory, and acquire and release on that of the
// environment too, which flushes each command.
func redisTables(ctx context.Context, p plan) error {
	url := os.Getenv("ROWLOCK_TEST_REDIS")
	if url == "" {
		return nil
	}
	started, err := testserver.Start(ctx, testserver.Redis, testserver.Options{})
	if err != nil {
		return err
	}
	defer started.Stop()
	memory := redisServer{"Redis in memory", started.DSN}
	for _, s := range []redisServer{memory, {"Redis, each command flushed", url}} {
		if err := s.cycles(ctx, p.short); err != nil {
			return err
		}
	}
	return memory.handOvers(ctx, p.handOver, p.waiters)
}

func (s redisServer) open() (*redis.Client, error) {
	options, err := redis.ParseURL(s.url)
	if err != nil {
		return nil, err
	}
	options.ContextTimeoutEnabled = true
	return redis.NewClient(options), nil
}

// cycles is acquire and release of a free name.
func (s redisServer) cycles(ctx context.Context, p runs) error {
	client, err := s.open()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	rowlock, err := ours("rowlock", redislock.New(client))
	if err != nil {
		return err
	}
	redsyncMutex := redsync.New(goredis.NewPool(client)).NewMutex("bench redsync", redsync.WithExpiry(redisTTL))
	locks := peer.New(client)
	return p.contest(ctx, contest{store: s.name, contenders: []contender{
		{name: "`SET NX PX` and compare-delete", cycle: func(ctx context.Context) error {
			release, err := bareRedis(ctx, client, "bench bare")
			if err != nil {
				return err
			}
			return release(ctx)
		}},
		rowlock,
		{name: "bsm/redislock", cycle: func(ctx context.Context) error {
			lock, err := locks.Obtain(ctx, "bench redislock", redisTTL, nil)
			if err != nil {
				return err
			}
			return lock.Release(ctx)
		}},
		{name: "redsync", cycle: func(ctx context.Context) error {
			if err := redsyncMutex.LockContext(ctx); err != nil {
				return err
			}
			_, err := redsyncMutex.UnlockContext(ctx)
			return err
		}},
	}})
}

var compareDelete = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)

// bareRedis is what any lock in Redis must do, with a random value as any has.
func bareRedis(ctx context.Context, client *redis.Client, key string) (release func(context.Context) error, err error) {
	nonce := driver.NewNonce().String()
	ok, err := client.SetNX(ctx, key, nonce, redisTTL).Result()
	if err == nil && !ok {
		err = errors.New("the lock is held")
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return compareDelete.Run(ctx, client, []string{key}, nonce).Err() }, nil
}

// handOvers is hand-over to one of few and of many waiters.
func (s redisServer) handOvers(ctx context.Context, p runs, waiters []int) error {
	client, err := s.open()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	open := func() (driver.Backend, func(), error) {
		client, err := s.open()
		if err != nil {
			return nil, nil, err
		}
		return redislock.New(client), func() { _ = client.Close() }, nil
	}
	all := []crowd{
		ourCrowd(fmt.Sprintf("rowlock, %d lockers", clients), clients, open),
		ourCrowd("rowlock, one locker", 1, open),
		s.crowd("bsm/redislock, every 100 ms", func(client *redis.Client) acquirer {
			locks := peer.New(client)
			retry := &peer.Options{RetryStrategy: peer.LinearBackoff(100 * time.Millisecond)}
			return func(ctx context.Context) (func(context.Context) error, error) {
				lock, err := locks.Obtain(ctx, "crowd redislock", redisTTL, retry)
				if err != nil {
					return nil, err
				}
				return lock.Release, nil
			}
		}),
		s.crowd("redsync, every 50 to 250 ms", func(client *redis.Client) acquirer {
			mutexes := redsync.New(goredis.NewPool(client))
			return func(ctx context.Context) (func(context.Context) error, error) {
				mutex := mutexes.NewMutex("crowd redsync", redsync.WithExpiry(redisTTL), redsync.WithTries(1<<30))
				return func(ctx context.Context) error {
					_, err := mutex.UnlockContext(ctx)
					return err
				}, mutex.LockContext(ctx)
			}
		}),
	}
	for _, n := range waiters {
		if err := p.crowds(ctx, s.name, n, all, redisRequests(client), "requests for each"); err != nil {
			return err
		}
	}
	return nil
}

// crowd is a peer's, over as many clients as ours.
func (s redisServer) crowd(name string, acquirerOf func(*redis.Client) acquirer) crowd {
	return crowd{name, func(_ context.Context, members int) (all []acquirer, leave func(), err error) {
		var open []*redis.Client
		leave = func() {
			for _, c := range open {
				_ = c.Close()
			}
		}
		for i := range clients {
			client, err := s.open()
			if err != nil {
				leave()
				return nil, nil, err
			}
			open = append(open, client)
			for range share(members, clients, i) {
				all = append(all, acquirerOf(client))
			}
		}
		return all, leave, nil
	}}
}

// commandCalls finds the commands that these libraries send; what a script calls is not among them.
var commandCalls = regexp.MustCompile(`(?m)^cmdstat_(?:set|eval|evalsha|subscribe|unsubscribe|ping|info):calls=(\d+)`)

// redisRequests counts what clients have sent.
func redisRequests(client *redis.Client) meter {
	return func(ctx context.Context) (float64, error) {
		text, err := client.Info(ctx, "commandstats").Result()
		if err != nil {
			return 0, err
		}
		var sum float64
		for _, found := range commandCalls.FindAllStringSubmatch(text, -1) {
			n, err := strconv.ParseFloat(found[1], 64)
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum, nil
	}
}
