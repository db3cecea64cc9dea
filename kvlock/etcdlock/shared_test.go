package etcdlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// Readers and writers wait in one queue. A writer waits until every reader before it has released, in any order. The
// readers behind the writer wait only for the writer.
func TestReadersAndWritersShareAQueue(t *testing.T) { onOneNode(t, readersAndWritersShareAQueue) }

func TestCompatReadersAndWritersShareAQueue(t *testing.T) {
	onThreeNodes(t, readersAndWritersShareAQueue)
}

func readersAndWritersShareAQueue(t *testing.T, n *network) {
	b := n.watching
	var readers []driver.Grant
	for range 3 {
		g, err := b.Acquire(t.Context(), reading("a"))
		require.NoError(t, err)
		readers = append(readers, g)
	}
	writer := queuedGrant(t, n, b, t.Context(), request("a"))
	late := queuedGrant(t, n, b, t.Context(), reading("a"))
	later := queuedGrant(t, n, b, t.Context(), reading("a"))
	for _, i := range []int{2, 0, 1} { // the writer watches the last reader first
		require.Empty(t, writer)
		require.NoError(t, b.Release(t.Context(), readers[i]))
	}
	g := <-writer
	require.NoError(t, g.err)
	require.Empty(t, late)
	require.NoError(t, b.Release(t.Context(), g.Grant))
	one, two := <-late, <-later
	require.NoError(t, one.err)
	require.NoError(t, two.err)
	require.Equal(t, one.Token, two.Token)
	require.Greater(t, one.Token, g.Token)
	require.Greater(t, g.Token, readers[0].Token)
	outcomes, err := b.Renew(t.Context(), []driver.Grant{one.Grant, two.Grant})
	require.NoError(t, err)
	require.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, outcomes)
}

// If a waiting writer gives up, the readers behind it are granted the lock, while earlier readers still hold it.
func TestAWriterThatGivesUpLetsReadersIn(t *testing.T) { onOneNode(t, aWriterThatGivesUpLetsReadersIn) }

func TestCompatAWriterThatGivesUpLetsReadersIn(t *testing.T) {
	onThreeNodes(t, aWriterThatGivesUpLetsReadersIn)
}

func aWriterThatGivesUpLetsReadersIn(t *testing.T, n *network) {
	b := n.watching
	before, err := b.Acquire(t.Context(), reading("a"))
	require.NoError(t, err)
	ctx, giveUp := context.WithCancel(t.Context())
	writer := queuedGrant(t, n, n.watching, ctx, request("a"))
	behind := queuedGrant(t, n, b, t.Context(), reading("a"))
	require.Empty(t, behind)
	giveUp()
	require.ErrorIs(t, (<-writer).err, context.Canceled)
	after := <-behind
	require.NoError(t, after.err)
	require.Equal(t, before.Token, after.Token, "the writer was not granted, so the epoch continues")
	require.NoError(t, b.Release(t.Context(), before))
	third, err := b.Acquire(t.Context(), reading("a"))
	require.NoError(t, err)
	require.Equal(t, before.Token, third.Token)
}

// A backend does not renew or release a share for a grant that is marked as exclusive, even if the grant is the same
// in all other fields.
func TestFormsDoNotMix(t *testing.T) {
	t.Parallel()
	b := etcdlock.New(connect(t, server(t)), prefix())
	g, err := b.Acquire(t.Context(), reading("a"))
	require.NoError(t, err)
	require.True(t, g.Shared)
	exclusive := g
	exclusive.Shared = false
	outcomes, err := b.Renew(t.Context(), []driver.Grant{exclusive})
	require.NoError(t, err)
	require.Equal(t, []driver.Outcome{driver.Lost}, outcomes)
	require.ErrorIs(t, b.Release(t.Context(), exclusive), driver.ErrNotHeld)
	require.NoError(t, b.Release(t.Context(), g))
}

// Successive acquisitions use the same key, so that etcd's index of a name does not grow until compaction. Concurrent
// acquisitions have separate keys. The keys of waiters follow the same rules.
func TestKeysAreUsedAgain(t *testing.T) {
	t.Parallel()
	s := counted(t)
	n := newNetwork(t, s.DSN)
	b := n.watching
	began, err := n.direct.Get(t.Context(), "began")
	require.NoError(t, err)
	for range 10 {
		g, err := b.Acquire(t.Context(), request("a"))
		require.NoError(t, err)
		next := queuedGrant(t, n, b, t.Context(), request("a"))
		ctx, cancel := context.WithCancel(t.Context())
		gone := queuedGrant(t, n, b, ctx, request("a"))
		// The key of a cancelled request is not reused, so the requests of both waiters must have been answered before
		// one of them is cancelled.
		require.Eventually(t, func() bool { return metric(t, s.DSN, watches) == 3 }, 30*time.Second, time.Millisecond)
		cancel()
		require.Error(t, (<-gone).err)
		_, err = b.Acquire(t.Context(), request("a"))
		require.Error(t, err)
		require.NoError(t, b.Release(t.Context(), g))
		granted := <-next
		require.NoError(t, granted.err)
		require.NoError(t, b.Release(t.Context(), granted.Grant))
	}
	require.Zero(t, b.Known(), "records of ended acquisitions are left")
	keys := make(map[string]bool)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	puts := 0
	for reply := range n.direct.Watch(ctx, b.Queue(driver.Key{Name: "a"}), clientv3.WithPrefix(), clientv3.WithRev(began.Header.Revision), clientv3.WithFilterDelete()) {
		for _, e := range reply.Events {
			keys[string(e.Kv.Key)] = true
			puts++
		}
		if puts == 30 {
			break
		}
	}
	require.Equal(t, 30, puts)
	require.Len(t, keys, 3)
}
