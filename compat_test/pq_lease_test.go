package compat_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/sqllock"
)

// lib/pq lends nothing that hears notifications: its waiter of a lease row is called in its turn all the same, finds
// out by its poll, and the backend says so.
func TestWaitingForALeaseRowWithPQ(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	direct := open(t, "pgx", dsn)
	var lockers []*rowlock.Locker
	for range 2 {
		l, err := rowlock.New(sqllock.Postgres(open(t, "postgres", dsn)))
		require.NoError(t, err)
		defer l.Close() //nolint:errcheck // released below
		lockers = append(lockers, l)
	}
	lease, err := lockers[0].Acquire(t.Context(), "a")
	require.NoError(t, err)
	got := make(chan *rowlock.Lease, 1)
	go func() {
		next, err := lockers[1].Acquire(t.Context(), "a")
		assert.NoError(t, err)
		got <- next
	}()
	require.Eventually(t, func() bool {
		n := 0
		return direct.QueryRow("SELECT count(*) FROM rowlock_lease_waiter WHERE channel = ''").Scan(&n) == nil && n == 1
	}, 20*time.Second, 5*time.Millisecond)
	assert.False(t, lockers[1].Capabilities().Wakes)
	require.NoError(t, lease.Release(t.Context()))
	next := <-got
	require.NoError(t, next.Release(t.Context()))
}
