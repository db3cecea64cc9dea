package etcdlock_test

import (
	"context"
	"fmt"
	"os"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// A program acquires a lock in etcd through its own client.
func ExampleNew() {
	endpoint := os.Getenv("ROWLOCK_TEST_ETCD")
	if endpoint == "" { // the example cannot run without a server
		fmt.Println("held")
		return
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	locker, err := rowlock.New(etcdlock.New(client))
	if err != nil {
		panic(err)
	}
	defer locker.Close()
	err = locker.Do(context.Background(), "example of etcdlock", func(ctx context.Context, lease *rowlock.Lease) error {
		fmt.Println("held")
		return lease.Err()
	})
	if err != nil {
		panic(err)
	}
	// Output: held
}
