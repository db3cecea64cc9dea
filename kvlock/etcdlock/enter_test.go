package etcdlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// A waiter that enters the queue gets the holder's description, even if a waiting writer is between the holder and the
// waiter. After the function wait has returned a context, only that context limits the wait. So the waiter continues
// to wait after the context that it passed to Await has ended.
func TestAWaiterLearnsTheHolder(t *testing.T)       { onOneNode(t, aWaiterLearnsTheHolder) }
func TestCompatAWaiterLearnsTheHolder(t *testing.T) { onThreeNodes(t, aWaiterLearnsTheHolder) }

func aWaiterLearnsTheHolder(t *testing.T, n *network) {
	for name, shared := range map[string]bool{"exclusive": false, "shared": true} {
		r := request(name)
		r.Holder, r.Note, r.Shared = "the holder", "its note", shared
		b := n.watching
		held, err := b.Acquire(t.Context(), r)
		require.NoError(t, err)
		middle := queuedGrant(t, n, n.watching, t.Context(), request(name))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		waits := request(name)
		waits.Shared = shared
		learned, granted := make(chan *driver.Held, 2), make(chan error, 1)
		go func() {
			_, err := b.Await(ctx, waits, func(h *driver.Held) context.Context {
				learned <- h
				return t.Context()
			})
			granted <- err
		}()
		want := &driver.Held{Holder: "the holder", Note: "its note", Token: held.Token}
		if shared { // the waiter is refused only because of the writer that waits
			want.Readers, want.Reason = 1, driver.Reserved
		}
		require.Equal(t, want, <-learned)
		cancel()
		require.NoError(t, b.Release(t.Context(), held))
		next := <-middle
		require.NoError(t, next.err)
		require.NoError(t, n.watching.Release(t.Context(), next.Grant))
		require.NoError(t, <-granted)
		require.Empty(t, learned, "the waiter was notified more than once")
	}
}
