package memlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// If the store's clock is set back, a lock that was released before or after that is still free. A minimum hold does
// not become longer. The lease of a dead holder still excludes others.
func TestAReleasedNameIsFreeWhenTheClockIsSetBack(t *testing.T) {
	b := memlock.New()
	acquire := func(name string, minHold time.Duration) (driver.Grant, error) {
		return b.Acquire(t.Context(), driver.Request{Key: driver.Key{Name: name}, Nonce: driver.NewNonce(), TTL: time.Minute, MinHold: minHold})
	}
	grants := map[string]driver.Grant{}
	for name, minHold := range map[string]time.Duration{"before": 0, "after": 0, "dead": 0, "held": time.Minute} {
		g, err := acquire(name, minHold)
		require.NoError(t, err)
		grants[name] = g
	}
	require.NoError(t, b.Release(t.Context(), grants["before"]))
	b.Advance(-time.Hour)
	n, err := b.Prune(t.Context(), 0)
	require.NoError(t, err)
	assert.Zero(t, n)
	require.NoError(t, b.Release(t.Context(), grants["after"]))
	require.NoError(t, b.Release(t.Context(), grants["held"]))
	for _, name := range []string{"before", "after"} {
		g, err := acquire(name, 0)
		require.NoError(t, err)
		assert.Greater(t, g.Token, grants[name].Token)
	}
	for _, name := range []string{"dead", "held"} {
		_, err := acquire(name, 0)
		require.ErrorAs(t, err, new(*driver.Held), name)
	}
	s, err := b.Inspect(t.Context(), driver.Key{Name: "held"})
	require.NoError(t, err)
	assert.InDelta(t, 60, s.FreeIn.Seconds(), 10)
}
