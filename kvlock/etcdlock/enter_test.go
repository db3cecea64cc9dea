package etcdlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// A waiter that enters the queue gets the holder's description, even if a waiting writer is between the holder and the
// waiter. The waiter continues to wait after the context of its request has ended.
func TestAWaiterLearnsTheHolder(t *testing.T) {
	everywhere(t, func(t *testing.T, n *network) {
		forms := map[string]func(*etcdlock.Backend) *etcdlock.Backend{
			"exclusive": func(b *etcdlock.Backend) *etcdlock.Backend { return b },
			"shared":    (*etcdlock.Backend).Shared,
		}
		for name, form := range forms {
			r := request(name)
			r.Holder, r.Note = "the holder", "its note"
			b := form(n.watching)
			held, err := b.Acquire(t.Context(), r)
			require.NoError(t, err)
			middle := queuedGrant(t, n, n.watching, t.Context(), request(name))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			learned, granted := make(chan *driver.Held, 2), make(chan error, 1)
			go func() {
				_, err := b.Await(ctx, request(name), func(h *driver.Held) context.Context {
					learned <- h
					return t.Context()
				})
				granted <- err
			}()
			require.Equal(t, &driver.Held{Holder: "the holder", Note: "its note", Token: held.Token}, <-learned)
			cancel()
			require.NoError(t, b.Release(t.Context(), held))
			next := <-middle
			require.NoError(t, next.err)
			require.NoError(t, n.watching.Release(t.Context(), next.Grant))
			require.NoError(t, <-granted)
			require.Empty(t, learned, "the waiter was notified more than once")
		}
	})
}
