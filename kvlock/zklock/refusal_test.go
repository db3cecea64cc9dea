package zklock_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

// A waiter that may create a node in a queue, but may not read other nodes, gets an error at once. Otherwise it would
// request its watches again and again, as fast as the servers answer.
func TestAWaiterThatMayNotReadIsToldSo(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	g, err := n.watching.Acquire(t.Context(), request("a")) // creates a lock's node whose children every user may list
	require.NoError(t, err)
	require.NoError(t, n.watching.Release(t.Context(), g))
	holder := open(t, n.servers, n.root, zklock.Digest("u", "p"), zklock.ACL(zk.DigestACL(zk.PermAll, "u", "p")...))
	_, err = holder.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := enter(t.Context(), open(t, n.servers, n.root), request("a"))
		done <- err
	}()
	select {
	case err := <-done:
		require.True(t, driver.IsPermanent(err), "%v", err)
		require.ErrorIs(t, err, zk.ErrNoAuth)
	case <-time.After(20 * time.Second):
		t.Fatal("the waiter is still retrying")
	}
	require.Equal(t, 1, entries(t, n, request("a").Key), "the waiter's node is deleted")
}
