package sqllock_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// A process has one row for a lock, even if several of its callers begin to wait for the lock at the same time. Two
// rows would have a bad effect: a grant changes the row's primary key, and both rows would get the same key. The
// release would then fail until the lease has expired.
func TestPostgresWhoBeginsToWaitAtOnceSharesOneRow(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2)
	holder, b := c.members[0].backend, c.members[1].backend
	for _, m := range c.members { // both members listen
		stop, err := m.backend.Notify(t.Context(), driver.Key{Name: "another"}, func() {})
		require.NoError(t, err)
		t.Cleanup(stop)
	}
	until(t, "both listen", func() bool { return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE channel <> ''") == 2 })
	g := acquire(t, holder, request("job"))
	begun := func() (end func()) {
		var mu sync.Mutex
		var stops []func()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				stop, err := b.Notify(t.Context(), g.Key, func() {})
				if assert.NoError(t, err) {
					mu.Lock()
					defer mu.Unlock()
					stops = append(stops, stop)
				}
			})
		}
		all.Wait()
		return func() {
			for _, stop := range stops {
				stop()
			}
		}
	}
	for range 10 {
		end := begun()
		if !assert.Equal(t, int64(1), c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE name = 'job'")) {
			t.Cleanup(end)
			break
		}
		end()
		until(t, "the row is gone", func() bool { return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE name = 'job'") == 0 })
	}
	t.Cleanup(begun())
	r := waiting("job")
	assert.True(t, refused(t, b, r).Pending)
	stop, err := holder.Notify(t.Context(), g.Key, func() {}) // this holder waits too, so its release may grant a request in a waiter's row
	require.NoError(t, err)
	defer stop()
	require.NoError(t, holder.Release(t.Context(), g))
	g, err = b.Acquire(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, b.Release(t.Context(), g))
}
