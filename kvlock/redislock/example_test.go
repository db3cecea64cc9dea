package redislock_test

import (
	"context"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// A program acquires a lock in one Redis server. For a Cluster, use redis.NewClusterClient.
func ExampleNew() {
	url := os.Getenv("ROWLOCK_TEST_REDIS")
	if url == "" { // the example cannot run without a server
		fmt.Println("held")
		return
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		panic(err)
	}
	options.ContextTimeoutEnabled = true // requests end at the deadline of their ctx
	client := redis.NewClient(options)
	defer client.Close()
	locker, err := rowlock.New(redislock.New(client))
	if err != nil {
		panic(err)
	}
	defer locker.Close()
	err = locker.Do(context.Background(), "example of redislock", func(ctx context.Context, lease *rowlock.Lease) error {
		fmt.Println("held")
		return lease.Err()
	})
	if err != nil {
		panic(err)
	}
	// Output: held
}
