package rowlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/memlock"
)

// If the confirmation of a grant after a long wait gets no reply, the waiter requests the name again.
// The store replied with the grant, so the long wait does not count as an outage.
func TestAProofThatFailsAfterALongWaitIsMadeAgain(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s := newEntered(store)
		before := acquire(t, locker(t, store), "a")
		got := make(chan *rowlock.Lease, 1)
		go func() {
			lease, err := locker(t, s, rowlock.TTL(ttl)).Acquire(t.Context(), "a")
			assert.NoError(t, err)
			got <- lease
		}()
		<-s.inQueue
		time.Sleep(10 * time.Minute)
		require.NoError(t, before.Release(t.Context()))
		lost := false
		store.Intercept(func(c memlock.Call) memlock.Fault {
			first := c.Op == memlock.OpRenew && !lost
			lost = lost || first
			return memlock.Fault{LoseRequest: first}
		})
		s.answers <- nil
		lease := receive(t, got)
		require.NotNil(t, lease)
		require.NoError(t, lease.Renew(t.Context()))
	})
}
