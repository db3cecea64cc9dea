package rowlock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// If a release had no effect, the error says that the store is unavailable, and not that the outcome is unknown. If a retry
// cannot help, the release is sent once. Otherwise the release is retried, also in the background.
func TestReleaseThatIsRefused(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		err   error
		again bool
	}{
		"for good": {driver.Permanent(refused), false},
		"for now":  {driver.NotApplied(refused), true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				lease := acquire(t, locker(t, store, rowlock.TTL(time.Minute)), "a")
				faults(store, map[memlock.Op]memlock.Fault{memlock.OpRelease: {Fail: c.err}})
				err := lease.Release(background)
				require.ErrorIs(t, err, rowlock.ErrUnavailable)
				require.NotErrorIs(t, err, rowlock.ErrUnknown)
				require.ErrorIs(t, err, refused)
				assert.Equal(t, c.again, store.Calls(memlock.OpRelease) > 1)
				faults(store, nil)
				time.Sleep(2 * time.Second)
				assert.Equal(t, c.again, stateOf(t, store, "a") == driver.StateFree)
			})
		})
	}
}
