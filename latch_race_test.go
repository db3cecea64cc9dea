package rowlock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/memlock"
)

// Promise 2: a local timer ends trust. The reply to a renewal came just before the deadline, and is acted upon while the
// scheduler finds that the deadline has passed: the lease is lost then, or it goes on and is still watched.
func TestAReplyBesideTheDeadlineLeavesNoLeaseUnwatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 3 * time.Second
		store := memlock.New()
		l, err := newLocker(store, systemClock, []Option{TTL(ttl)})
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		var leases [2]*Lease
		for i, name := range []string{"a", "b"} {
			leases[i], err = l.Acquire(t.Context(), name)
			require.NoError(t, err)
		}
		store.Intercept(func(memlock.Call) memlock.Fault { return memlock.Fault{LoseRequest: true} })

		time.Sleep(ttl / 2)
		sent := systemClock()
		time.Sleep(ttl / 3)
		arrived := systemClock()
		for i, le := range leases {
			end := le.ctx.end
			le.ctx.end = func(cause error) { // the scheduler is about to end the one and then the other
				leases[1-i].confirm(sent, arrived)
				end(cause)
			}
		}
		for _, le := range leases {
			select {
			case <-le.Context().Done():
				require.ErrorIs(t, context.Cause(le.Context()), ErrLost)
			case <-time.After(time.Minute):
				assert.Fail(t, "nobody watched the deadline")
			}
		}
	})
}
