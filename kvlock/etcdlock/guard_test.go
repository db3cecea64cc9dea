package etcdlock_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
	"github.com/rowlock/rowlock/memlock"
)

// etcd rejects a transaction with the guard of a lost lease, even if the holder does not know of the loss. It accepts a
// transaction with the guard of the current lease.
func TestGuardRefusesWhatComesTooLate(t *testing.T) { onOneNode(t, guardRefusesWhatComesTooLate) }
func TestCompatGuardRefusesWhatComesTooLate(t *testing.T) {
	onThreeNodes(t, guardRefusesWhatComesTooLate)
}

func guardRefusesWhatComesTooLate(t *testing.T, n *network) {
	b, err := n.open()
	require.NoError(t, err)
	lease, err := lockerOn(t, b).Acquire(t.Context(), "a", rowlock.Namespace("n/s"))
	require.NoError(t, err)
	old, err := b.Guard(lease)
	require.NoError(t, err)
	write := func(guard clientv3.Cmp) bool {
		reply, err := n.direct.Txn(t.Context()).If(guard).Then(clientv3.OpPut("data-"+n.watching.Queue(driver.Key{}), "x")).Commit()
		require.NoError(t, err)
		return reply.Succeeded
	}
	require.True(t, write(old))
	require.NoError(t, n.Cut(b))
	defer func() { require.NoError(t, n.Restore(b)) }()
	require.NoError(t, n.Expire(t.Context(), driver.Key{Namespace: "n/s", Name: "a"}))
	require.NoError(t, lease.Err(), "the holder knows nothing of its loss")
	require.False(t, write(old))
	other, err := n.open()
	require.NoError(t, err)
	next, err := lockerOn(t, other).Acquire(t.Context(), "a", rowlock.Namespace("n/s"))
	require.NoError(t, err)
	require.False(t, write(old))
	present, err := other.Guard(next)
	require.NoError(t, err)
	require.True(t, write(present))
}

// A reader's guard is true while the reader holds its lease. Guard fails for a lease that another backend granted.
func TestGuardOfAReader(t *testing.T)       { onOneNode(t, guardOfAReader) }
func TestCompatGuardOfAReader(t *testing.T) { onThreeNodes(t, guardOfAReader) }

func guardOfAReader(t *testing.T, n *network) {
	lease, err := lockerOn(t, n.watching).Acquire(t.Context(), "a", rowlock.Shared())
	require.NoError(t, err)
	guard, err := n.watching.Guard(lease)
	require.NoError(t, err)
	holds := func() bool {
		reply, err := n.direct.Txn(t.Context()).If(guard).Then(clientv3.OpGet("data")).Commit()
		require.NoError(t, err)
		return reply.Succeeded
	}
	require.True(t, holds())
	_, err = etcdlock.New(n.direct, n.prefix).Guard(lease)
	require.ErrorContains(t, err, "another Backend")
	require.NoError(t, n.Expire(t.Context(), driver.Key{Name: "a"}))
	require.False(t, holds())
}

// Guard fails for a lease that has ended, and for a lease of another kind of store.
func TestGuardNeedsALeaseOfEtcd(t *testing.T) {
	t.Parallel()
	b := etcdlock.New(connect(t, server(t)), prefix())
	lease, err := lockerOn(t, b).Acquire(t.Context(), "a")
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))
	_, err = b.Guard(lease)
	require.ErrorIs(t, err, rowlock.ErrReleased)
	lease, err = lockerOn(t, memlock.New()).Acquire(t.Context(), "a")
	require.NoError(t, err)
	_, err = b.Guard(lease)
	require.ErrorContains(t, err, "granted by")
}

// exampleServer returns the server's endpoint, and whether there is a server. It panics if there is no server and tests
// must not be skipped.
func exampleServer() (string, bool) {
	endpoint := os.Getenv("ROWLOCK_TEST_ETCD")
	if endpoint == "" && os.Getenv("ROWLOCK_REQUIRE") == "all" {
		panic("ROWLOCK_TEST_ETCD is not set, and ROWLOCK_REQUIRE=all")
	}
	return endpoint, endpoint != ""
}

// With a guard, etcd accepts a write only from the holder of the lock.
func ExampleBackend_Guard() {
	endpoint, ok := exampleServer()
	if !ok {
		fmt.Println("stored: true")
		return
	}
	ctx := context.Background()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	locks := etcdlock.New(client)
	locker, err := rowlock.New(locks)
	if err != nil {
		panic(err)
	}
	defer locker.Close()

	err = locker.Do(ctx, "example-guard", func(ctx context.Context, lease *rowlock.Lease) error {
		guard, err := locks.Guard(lease)
		if err != nil {
			return err
		}
		reply, err := client.Txn(ctx).If(guard).Then(clientv3.OpPut("example-guard-data", "by the holder")).Commit()
		if err != nil {
			return err
		}
		fmt.Println("stored:", reply.Succeeded)
		return nil
	})
	if err != nil {
		panic(err)
	}
	// Output: stored: true
}
