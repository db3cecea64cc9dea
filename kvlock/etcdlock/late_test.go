package etcdlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// If the entry of an abandoned request arrives late, a waiter on the same session deletes it, even if the session
// holds no lock. Otherwise that entry would live as long as the wait, because a waiter renews its session.
func TestAWaiterDeletesALateEntry(t *testing.T)       { onOneNode(t, aWaiterDeletesALateEntry) }
func TestCompatAWaiterDeletesALateEntry(t *testing.T) { onThreeNodes(t, aWaiterDeletesALateEntry) }

func aWaiterDeletesALateEntry(t *testing.T, n *network) {
	_, err := n.watching.Acquire(t.Context(), request("held"))
	require.NoError(t, err)
	b, err := n.open()
	require.NoError(t, err)
	b.SetChecks(40)
	waiting, late := request("held"), request("late")
	// Both requests use one session of 23 s. The late request needs no renewal while the session is younger than 3.4 s.
	waiting.TTL, late.TTL = 20*time.Second, 19600*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	waits, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := b.Await(ctx, waiting, func(*driver.Held) context.Context { close(waits); return ctx })
		ended <- err
	}()
	select {
	case <-waits:
	case err := <-ended:
		require.NoError(t, err)
	}
	keys, err := n.direct.Get(t.Context(), n.watching.Queue(waiting.Key), clientv3.WithLastCreate()...)
	require.NoError(t, err)
	session := clientv3.LeaseID(keys.Kvs[0].Lease)

	require.NoError(t, n.Cut(b))
	brief, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer stop()
	_, err = b.Acquire(brief, late)
	require.False(t, err == nil || driver.IsNotApplied(err), "%v", err)
	require.NoError(t, n.Restore(b))
	_, err = n.direct.Put(t.Context(), b.EntryOf(late.Nonce), "{}", clientv3.WithLease(session))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return entries(t, n, late.Key) == 0 }, time.Minute, 20*time.Millisecond)
	require.Equal(t, 2, entries(t, n, waiting.Key), "the waiter has its entry")
	require.Empty(t, ended)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}
