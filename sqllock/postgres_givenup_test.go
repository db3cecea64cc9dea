package sqllock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
)

// Promise 5 of docs/guarantees.md: after Acquire has returned an error, or Close has returned, no release reserves the
// lock for that waiter or grants it the lock. So a third caller is granted the lock at once, whether or not the
// releasing holder has waited for the lock before.
func TestPostgresAWaiterThatGaveUpIsKeptNothing(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]bool{"a release that keeps": false, "a release that grants": true} {
		for how, end := range map[string]func(cancel context.CancelFunc, waiter *rowlock.Locker, failed <-chan error) error{
			"by its ctx": func(cancel context.CancelFunc, _ *rowlock.Locker, failed <-chan error) error {
				cancel()
				return <-failed
			},
			"by Close": func(_ context.CancelFunc, waiter *rowlock.Locker, _ <-chan error) error {
				return errors.Join(rowlock.ErrClosed, waiter.Close())
			},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				c := newCrowd(t, 3)
				holder, third := c.members[0], c.members[2]
				held, err := third.Acquire(t.Context(), "job")
				require.NoError(t, err)
				for range 10 {
					lease := held
					if waits {
						lease = c.passedOn(t, held, holder)
					}
					waiter, err := rowlock.New(c.members[1].backend)
					require.NoError(t, err)
					ctx, cancel := context.WithCancel(t.Context())
					failed := make(chan error, 1)
					go func() {
						_, err := waiter.Acquire(ctx, "job")
						failed <- err
					}()
					c.requested(t)
					began := time.Now()
					require.Error(t, end(cancel, waiter, failed))
					acquire := third.TryAcquire
					if time.Since(began) > time.Second { // too slow: a waiter that gives up waits for its withdrawal for a second at most
						acquire = third.Acquire
					}
					require.NoError(t, lease.Release(t.Context()))
					held, err = acquire(t.Context(), "job")
					cancel()
					require.NoError(t, err, "kept for the waiter that has given up")
					require.NoError(t, waiter.Close())
				}
				assert.NoError(t, held.Release(t.Context()))
			})
		}
	}
}

// requested waits until a process has stored a request in its row in the table of waiters.
func (c *crowd) requested(t *testing.T) {
	t.Helper()
	until(t, "a request is left", func() bool {
		return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE nonce IS NOT NULL AND channel <> ''") == 1
	})
}

// passedOn makes the member next wait for the lock. Then it releases the lease held, and returns the lease that this
// member is granted.
func (c *crowd) passedOn(t *testing.T, held *rowlock.Lease, next *member) *rowlock.Lease {
	t.Helper()
	got := make(chan *rowlock.Lease, 1)
	go func() {
		lease, err := next.Acquire(t.Context(), "job")
		assert.NoError(t, err)
		got <- lease
	}()
	c.requested(t)
	require.NoError(t, held.Release(t.Context()))
	return within(t, got)
}

// If a locker is closed before its waiter calls Notify, no connection listens, neither while Close waits for the
// waiter nor afterwards.
func TestPostgresAWaiterThatMeetsCloseListensNoMore(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2)
	lease, err := c.members[0].Acquire(t.Context(), "job")
	require.NoError(t, err)
	b := c.members[1].backend
	for range 5 {
		var waiter *rowlock.Locker
		waiter, err = rowlock.New(b, rowlock.Tracing(&rowlock.Trace{HeldByOther: func(rowlock.HeldByOtherEvent) {
			assert.NoError(t, waiter.Close())
		}}))
		require.NoError(t, err)
		_, err = waiter.Acquire(t.Context(), "job")
		require.ErrorIs(t, err, rowlock.ErrClosed)
		until(t, "it is known whether it listens", func() bool { _, known := b.Listens(); return !known })
		kept, _ := b.Listens()
		assert.False(t, kept, "a connection listens for nobody")
	}
	require.NoError(t, lease.Release(t.Context()))
}
