package rowlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/memlock"

	"github.com/rowlock/rowlock"
)

// If a server's clock is set forward, leases end early in the store. A second holder may acquire the name before the
// first holder notices the loss at its next renewal. The two holders have different tokens.
func TestStoreClockSetForward(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		first := acquire(t, locker(t, store, rowlock.TTL(ttl)), "a")
		store.Advance(2 * ttl)
		second := acquire(t, locker(t, store, rowlock.TTL(ttl)), "a", rowlock.Wait(0))
		require.NoError(t, first.Err(), "it has not noticed yet")
		assert.Greater(t, second.Token(), first.Token())
		assert.Equal(t, ttl/3, until(t, first.Context().Done()))
		require.ErrorIs(t, first.Err(), rowlock.ErrLost)
		time.Sleep(10 * ttl)
		require.NoError(t, second.Err())
	})
}

// If a server's clock is set back, a minimum hold lasts longer. Tokens still rise.
func TestStoreClockSetBack(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(ttl))
		first := acquire(t, l, "a", rowlock.MinHold(time.Second))
		require.NoError(t, first.Release(background))
		store.Advance(-time.Hour)
		got := make(chan *rowlock.Lease, 1)
		go func() {
			lease, err := l.Acquire(background, "a")
			if assert.NoError(t, err) {
				got <- lease
			}
		}()
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		assert.Empty(t, got, "its release time is in the future")
		time.Sleep(time.Minute)
		second := receive(t, got)
		assert.Greater(t, second.Token(), first.Token())
	})
}
