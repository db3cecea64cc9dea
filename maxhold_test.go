package rowlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// MaxHold limits how long a lease is trusted, and how long the store keeps it. The lease is trusted until the maximum
// hold is over. The name is free one margin later, even if the holder does nothing. In this test the margin is a
// tenth of the TTL.
func TestMaxHoldFreesTheName(t *testing.T) {
	for name, c := range map[string]struct{ ttl, hold time.Duration }{
		"shorter than the TTL":        {4 * time.Second, time.Second},
		"shorter than the margin":     {40 * time.Second, time.Second},
		"a little longer than it":     {4 * time.Second, 5 * time.Second},
		"many TTLs":                   {4 * time.Second, 50 * time.Second},
		"as long as it":               {4 * time.Second, 4 * time.Second},
		"shorter than any lease":      {4 * time.Second, 10 * time.Millisecond},
		"between TTL less the margin": {4 * time.Second, 3900 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				start := time.Now()
				lost := make(chan rowlock.LostEvent, 1)
				trace := rowlock.Trace{Lost: func(e rowlock.LostEvent) { lost <- e }}
				lease := acquire(t, locker(t, store, rowlock.TTL(c.ttl), rowlock.MaxHold(c.hold), rowlock.Tracing(&trace)), "a")
				until(t, lease.Context().Done())
				assert.Equal(t, c.hold, time.Since(start))
				assert.Equal(t, rowlock.LostMaxHold, (<-lost).Reason)
				status, err := store.Inspect(background, driver.Key{Name: "a"})
				require.NoError(t, err)
				assert.LessOrEqual(t, status.ExpiresIn, max(c.ttl/10, 50*time.Millisecond))
				acquireWithin(t, time.Hour, locker(t, store), "a")
				assert.LessOrEqual(t, time.Since(start), c.hold+c.ttl/10+60*time.Millisecond)
			})
		})
	}
}

// MaxHold counts from the grant, however long the caller waited in the store's queue.
func TestMaxHoldDoesNotCountTheWait(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s := newEntered(store)
		before := acquire(t, locker(t, store), "a")
		next := make(chan outcome, 1)
		go func() {
			lease, err := locker(t, s, rowlock.TTL(ttl), rowlock.MaxHold(20*ttl)).Acquire(background, "a")
			next <- outcome{lease, err}
		}()
		<-s.inQueue
		time.Sleep(10 * ttl)
		require.NoError(t, before.Release(background))
		s.answers <- nil
		got := receive(t, next)
		require.NoError(t, got.err)
		assert.Equal(t, 20*ttl, until(t, got.lease.Context().Done()))
	})
}

// Promise 2 of docs/guarantees.md: the maximum hold may shorten the TTL of a lease. The lease is not trusted for longer
// than the store keeps it.
func TestAShortenedTermIsNotTrustedForLonger(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lease := acquire(t, locker(t, store, rowlock.TTL(4*time.Second), rowlock.MaxHold(time.Minute)), "a")
		for lease.Err() == nil {
			status, err := store.Inspect(background, driver.Key{Name: "a"})
			require.NoError(t, err)
			require.LessOrEqual(t, time.Until(lease.ExpiresAt()), status.ExpiresIn)
			time.Sleep(100 * time.Millisecond)
		}
	})
}
