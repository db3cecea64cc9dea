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

// A request that was given up without an answer and is carried out after all is found when it is sent
// again: the grant is that of the entry, and there is no second one. New locks go to another session.
func TestARequestThatArrivesLateIsFound(t *testing.T) {
	t.Parallel()
	type attempt func(*etcdlock.Backend, context.Context, driver.Request) (driver.Grant, error)
	exclusive := func(b *etcdlock.Backend) *etcdlock.Backend { return b }
	for name, c := range map[string]struct {
		form func(*etcdlock.Backend) *etcdlock.Backend
		ask  attempt
	}{
		"try":           {exclusive, (*etcdlock.Backend).Acquire},
		"queue":         {exclusive, (*etcdlock.Backend).AcquireQueued},
		"try, shared":   {(*etcdlock.Backend).Shared, (*etcdlock.Backend).Acquire},
		"queue, shared": {(*etcdlock.Backend).Shared, (*etcdlock.Backend).AcquireQueued},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, server(t))
			b, err := n.open()
			require.NoError(t, err)
			first, err := b.Acquire(t.Context(), request("first"))
			require.NoError(t, err)
			session, err := n.leaseOf(t.Context(), first.Key)
			require.NoError(t, err)
			wire := b
			b = c.form(b)
			require.NoError(t, n.Cut(wire))
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			r := request("a")
			_, err = c.ask(b, ctx, r)
			require.Error(t, err)
			require.False(t, driver.IsNotApplied(err), "%v", err)
			late, err := n.direct.Put(t.Context(), b.EntryOf(r.Nonce), "{}", clientv3.WithLease(session))
			require.NoError(t, err)
			require.NoError(t, n.Restore(wire))

			require.Eventually(t, func() bool { // its client connects again
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := b.Inspect(ctx, r.Key)
				return err == nil
			}, 10*time.Second, 10*time.Millisecond)

			g, err := c.ask(b, t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, driver.Token(late.Header.Revision), g.Token)
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
