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

// once acquires a name, and releases it with a tick. If the tick is empty, the release records no tick.
func once(t *testing.T, b *etcdlock.Backend, key driver.Key, tick string) {
	t.Helper()
	r := request("")
	r.Key = key
	g, err := b.Acquire(t.Context(), r)
	require.NoError(t, err)
	g.Done = tick
	require.NoError(t, b.Release(t.Context(), g))
}

func ticks(t *testing.T, b *etcdlock.Backend) map[driver.Key]string {
	t.Helper()
	list, err := b.List(t.Context(), "", true)
	require.NoError(t, err)
	done := make(map[driver.Key]string)
	for _, s := range list {
		done[s.Key] = s.Done
	}
	return done
}

// A tick has one key, which belongs to no lease. A name without a tick has no key. List returns the ticks, and Prune
// deletes old ticks of free names. Neither method reads the ticks of a backend whose prefix lies below this backend's
// prefix.
func TestTicksAreListedAndPruned(t *testing.T) {
	t.Parallel()
	client, p := connect(t, server(t)), "test-"+driver.NewNonce().String()
	outer, inner := etcdlock.New(client, etcdlock.Prefix(p)), etcdlock.New(client, etcdlock.Prefix(p+"/b"))
	free, held, inside := driver.Key{Namespace: "b", Name: "c"}, driver.Key{Name: "%done"}, driver.Key{Namespace: "c", Name: "d"}
	once(t, outer, driver.Key{Name: "none"}, "")
	once(t, outer, free, "one")
	once(t, outer, held, "two")
	once(t, inner, inside, "three")
	for _, b := range []*etcdlock.Backend{outer, inner} {
		reply, err := client.Get(t.Context(), b.Queue(driver.Key{Name: "none"}), clientv3.WithPrefix())
		require.NoError(t, err)
		require.Empty(t, reply.Kvs)
	}
	r := request("")
	r.Key = held
	g, err := outer.Acquire(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "two", g.Done)
	require.Equal(t, map[driver.Key]string{free: "one", held: "two"}, ticks(t, outer))

	n, err := outer.Prune(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = outer.Prune(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, 1, n, "the name that is held keeps its tick")
	require.Equal(t, map[driver.Key]string{held: "two"}, ticks(t, outer))
	require.Equal(t, map[driver.Key]string{inside: "three"}, ticks(t, inner))
	require.NoError(t, outer.Release(t.Context(), g))
}

// If a release without a reply was never executed, and the lock was then lost, the next release does not report that the
// tick is recorded.
func TestALostReleaseRecordsNoTick(t *testing.T) {
	t.Parallel()
	client := connect(t, server(t))
	b := etcdlock.New(client, prefix())
	g, err := b.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	g.Done = "tick"
	unsent := newStop()
	ctx, giveUp := context.WithCancel(t.Context())
	released := make(chan error, 1)
	go func() { released <- b.Release(before{ctx, unsent}, g) }()
	<-unsent.reached
	giveUp()
	require.Error(t, <-released)
	_, err = client.Delete(t.Context(), b.EntryOf(g.Nonce))
	require.NoError(t, err)
	require.ErrorIs(t, b.Release(t.Context(), g), driver.ErrNotHeld)
	status, err := b.Inspect(t.Context(), g.Key)
	require.NoError(t, err)
	require.Empty(t, status.Done)
}
