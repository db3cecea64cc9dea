package rowlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/memlock"
)

// Promise 10 of docs/guarantees.md: if every reply of the store arrives after the lease has ended, an acquire does not
// retry indefinitely. The call fails as if the store did not reply, and the name is free.
func TestGrantsThatComeTooLateEnd(t *testing.T) {
	for name, opts := range map[string][]rowlock.Option{
		"for the maximum hold": {rowlock.TTL(ttl), rowlock.MaxHold(50 * time.Millisecond)},
		"for the TTL":          {rowlock.TTL(60 * time.Millisecond)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {Reply: 100 * time.Millisecond}})
				ctx, cancel := context.WithTimeout(background, time.Hour)
				defer cancel()
				start := time.Now()
				_, err := locker(t, store, opts...).Acquire(ctx, "a")
				require.ErrorIs(t, err, rowlock.ErrUnavailable)
				require.ErrorContains(t, err, "too late")
				require.Less(t, time.Since(start), 2*ttl)
				faults(store, nil)
				synctest.Wait()
				_, err = locker(t, store).TryAcquire(background, "a")
				require.NoError(t, err)
			})
		})
	}
}

// If a grant arrives too late, the grant is released, and the waiter retries. One slow reply costs one more request.
func TestALateGrantIsReleasedAndRequestedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		slow := true
		store.Intercept(func(c memlock.Call) memlock.Fault {
			if c.Op != memlock.OpAcquire || !slow {
				return memlock.Fault{}
			}
			slow = false
			return memlock.Fault{Reply: 100 * time.Millisecond}
		})
		lease := acquire(t, locker(t, store, rowlock.TTL(60*time.Millisecond)), "a")
		require.NoError(t, lease.Err())
		require.Equal(t, 2, store.Calls(memlock.OpAcquire))
	})
}
