package main

import (
	"context"
	"time"

	peer "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

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

// redsyncMember returns a member that uses redsync on one node or on several nodes.
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
