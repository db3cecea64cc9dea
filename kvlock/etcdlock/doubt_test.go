package etcdlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// etcd executes a request late, after the caller has given up without an answer. A retry finds the late entry and is
// granted the lock with that entry's token. The retry puts no second entry. New locks use another session.
func TestARequestThatArrivesLateIsFound(t *testing.T) { onOneNode(t, aRequestThatArrivesLateIsFound) }
func TestCompatARequestThatArrivesLateIsFound(t *testing.T) {
	onThreeNodes(t, aRequestThatArrivesLateIsFound)
}

func aRequestThatArrivesLateIsFound(t *testing.T, n *network) {
	type attempt func(*etcdlock.Backend, context.Context, driver.Request) (driver.Grant, error)
	for name, c := range map[string]struct {
		shared bool
		ask    attempt
	}{
		"try":           {false, (*etcdlock.Backend).Acquire},
		"queue":         {false, inQueue},
		"try, shared":   {true, (*etcdlock.Backend).Acquire},
		"queue, shared": {true, inQueue},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, n.endpoints...)
			b, err := n.open()
			require.NoError(t, err)
			first, err := b.Acquire(t.Context(), request("first"))
			require.NoError(t, err)
			session, err := n.leaseOf(t.Context(), first.Key)
			require.NoError(t, err)
			r := request("a")
			r.Shared = c.shared
			late := n.late(t, b, session, func(ctx context.Context) error {
				_, err := c.ask(b, ctx, r)
				return err
			}, r)
			g, err := c.ask(b, t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, late, g.Token)
			require.Equal(t, 1, entries(t, n, r.Key))
			next, err := b.Acquire(t.Context(), request("next"))
			require.NoError(t, err)
			other, err := n.leaseOf(t.Context(), next.Key)
			require.NoError(t, err)
			require.NotEqual(t, session, other)
			require.NoError(t, b.Release(t.Context(), g))
			require.Zero(t, entries(t, n, r.Key))
		})
	}
}

// A late entry is no grant while another entry is before it in the queue. A retry of any kind finds the lock held.
func TestALatePlaceInTheQueueIsNoGrant(t *testing.T) { onOneNode(t, aLatePlaceInTheQueueIsNoGrant) }
func TestCompatALatePlaceInTheQueueIsNoGrant(t *testing.T) {
	onThreeNodes(t, aLatePlaceInTheQueueIsNoGrant)
}

func aLatePlaceInTheQueueIsNoGrant(t *testing.T, n *network) {
	wire, err := n.open()
	require.NoError(t, err)
	for i, shared := range []bool{false, true} {
		first, err := wire.Acquire(t.Context(), request(fmt.Sprint("first", i)))
		require.NoError(t, err)
		session, err := n.leaseOf(t.Context(), first.Key)
		require.NoError(t, err)
		r := request(fmt.Sprint("a", i))
		r.Shared = shared
		held, err := n.watching.Acquire(t.Context(), request(r.Key.Name))
		require.NoError(t, err)
		late := n.late(t, wire, session, func(ctx context.Context) error {
			_, err := inQueue(wire, ctx, r)
			return err
		}, r)
		for _, r.Waiting = range []bool{false, true} {
			_, err = wire.Acquire(t.Context(), r)
			var refused *driver.Held
			require.ErrorAs(t, err, &refused)
			require.Equal(t, held.Token, refused.Token)
		}
		require.NoError(t, n.watching.Release(t.Context(), held))
		g, err := wire.Acquire(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, late, g.Token)
	}
}

// If the same nonce is used for several names, or for an exclusive and a shared request, each request gets a key of its
// own.
func TestAKeyBelongsToItsName(t *testing.T)       { onOneNode(t, aKeyBelongsToItsName) }
func TestCompatAKeyBelongsToItsName(t *testing.T) { onThreeNodes(t, aKeyBelongsToItsName) }

func aKeyBelongsToItsName(t *testing.T, n *network) {
	r := request("a")
	_, err := n.watching.Acquire(t.Context(), r)
	require.NoError(t, err)
	for _, name := range []string{"b", "c"} {
		r.Key.Name = name
		_, err = n.watching.Acquire(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, 1, entries(t, n, r.Key))
	}
	r.Key.Name = "d"
	r.Shared = true
	_, err = n.watching.Acquire(t.Context(), r)
	require.NoError(t, err)
	_, err = n.watching.Acquire(t.Context(), reading("d"))
	require.NoError(t, err)
	require.Equal(t, 2, entries(t, n, r.Key))
}

// late simulates a request that arrives late. The client sends the request while it is cut off, and gives up. Then it
// puts the entry of the request, and returns the entry's token.
func (n *network) late(t *testing.T, b *etcdlock.Backend, session clientv3.LeaseID, ask func(context.Context) error, r driver.Request) driver.Token {
	t.Helper()
	require.NoError(t, n.Cut(b))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := ask(ctx)
	require.Error(t, err)
	require.False(t, driver.IsNotApplied(err), "%v", err)
	put, err := n.direct.Put(t.Context(), b.EntryOf(r.Nonce), "{}", clientv3.WithLease(session))
	require.NoError(t, err)
	require.NoError(t, n.Restore(b))
	require.Eventually(t, func() bool { // retries until the client has reconnected
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := b.Inspect(ctx, r.Key)
		return err == nil
	}, 30*time.Second, 10*time.Millisecond)
	return driver.Token(put.Header.Revision)
}
