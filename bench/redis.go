package main

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"time"

	peer "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
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

// redisStore keeps everything in memory.
func redisStore() store {
	return store{
		id: "redis", title: "Redis in memory",
		serve: func(ctx context.Context, w *world) ([]string, error) {
			return w.started(ctx, "redis", testserver.Redis, 1, testserver.Options{})
		},
		counted: "requests", count: countRequests, version: redisVersion,
		many:    []string{"one server"},
		modules: []string{"github.com/redis/go-redis/v9", "github.com/bsm/redislock", "github.com/go-redsync/redsync/v4"},
		locks: []lock{
			byRedis(lock{name: bareRedis, kind: report.Floor, floor: bareRedis, alone: true}, setNX),
			byRedis(lock{name: baton, kind: report.Floor, floor: baton}, passBaton),
			rows("one server", bareRedis, func(_ context.Context, at []string) (driver.Backend, func(), error) {
				client, err := openRedis(at[0])
				if err != nil {
					return nil, nil, err
				}
				return redislock.New(client), func() { _ = client.Close() }, nil
			}),
			byRedis(lock{name: "bsm/redislock, every 100 ms", kind: report.Peer, floor: bareRedis}, bsm),
			byRedis(lock{name: "redsync, every 50 to 250 ms", kind: report.Peer, floor: bareRedis},
				func(client *redis.Client, t task) func() (acquirer, error) { return redsyncMember(t, client) }),
		},
	}
}

// durableRedisStore flushes each command.
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
	options.ContextTimeoutEnabled = true
	return redis.NewClient(options), nil
}

// byRedis completes a lock whose members share a client.
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

// setNX is what any lock in Redis must do, with a random value as any has.
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

// passBaton lets the server keep those who wait, so that nothing is faster; if a holder dies, the baton is gone.
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

func bsm(client *redis.Client, t task) func() (acquirer, error) {
	return func() (acquirer, error) {
		locks := peer.New(client)
		return func(ctx context.Context) (held, error) {
			lock, err := locks.Obtain(ctx, t.Name, t.TTL, &peer.Options{RetryStrategy: peer.LinearBackoff(100 * time.Millisecond)})
			if err != nil {
				return held{}, err
			}
			return held{release: lock.Release}, nil
		}, nil
	}
}

// redsyncMember works on one node or on several.
func redsyncMember(t task, clients ...*redis.Client) func() (acquirer, error) {
	var pools []redsyncredis.Pool
	for _, c := range clients {
		pools = append(pools, goredis.NewPool(c))
	}
	all := redsync.New(pools...)
	return func() (acquirer, error) {
		return func(ctx context.Context) (held, error) {
			mutex := all.NewMutex(t.Name, redsync.WithExpiry(t.TTL), redsync.WithTries(1<<30))
			return held{release: func(ctx context.Context) error {
				_, err := mutex.UnlockContext(ctx)
				return err
			}}, mutex.LockContext(ctx)
		}, nil
	}
}

func redisVersion(ctx context.Context, at []string) (string, error) {
	client, err := openRedis(at[0])
	if err != nil {
		return "", err
	}
	defer func() { _ = client.Close() }()
	text, err := client.Info(ctx, "server").Result()
	if err != nil {
		return "", err
	}
	if found := regexp.MustCompile(`redis_version:(\S+)`).FindStringSubmatch(text); found != nil {
		return found[1], nil
	}
	return "", errors.New("the server does not tell its version")
}

// commandCalls finds the commands that these libraries send; what a script calls is not among them.
var commandCalls = regexp.MustCompile(`(?m)^cmdstat_(?:set|eval|evalsha|blpop|rpush|subscribe|unsubscribe|ping|info):calls=(\d+)`)

// countRequests counts what clients have sent, to all nodes.
func countRequests(_ context.Context, at []string) (meter, func(), error) {
	var clients []*redis.Client
	leave := func() {
		for _, c := range clients {
			_ = c.Close()
		}
	}
	for _, url := range at {
		client, err := openRedis(url)
		if err != nil {
			leave()
			return nil, nil, err
		}
		clients = append(clients, client)
	}
	return func(ctx context.Context) (sum float64, err error) {
		for _, c := range clients {
			text, err := c.Info(ctx, "commandstats").Result()
			if err != nil {
				return 0, err
			}
			for _, found := range commandCalls.FindAllStringSubmatch(text, -1) {
				n, err := strconv.ParseFloat(found[1], 64)
				if err != nil {
					return 0, err
				}
				sum += n
			}
		}
		return sum, nil
	}, leave, nil
}
