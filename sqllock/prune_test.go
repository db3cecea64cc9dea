package sqllock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// Prune deletes only the rows of locks that have been free for the given time. A later grant of a deleted name has a
// larger token than all earlier grants of that name.
func TestPruneForgetsWhatIsUnused(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		prune := func(unused time.Duration) int {
			t.Helper()
			n, err := b.Prune(t.Context(), unused)
			require.NoError(t, err)
			return n
		}
		require.Zero(t, prune(0))
		released, expired := acquire(t, b, request("released")), acquire(t, b, request("expired"))
		require.NoError(t, b.Release(t.Context(), released))
		s.grow(t, time.Hour)
		alive := acquire(t, b, request("alive"))
		closed := request("closed")
		closed.MinHold = 3 * time.Hour
		require.NoError(t, b.Release(t.Context(), acquire(t, b, closed)))
		require.Zero(t, prune(2*time.Hour), "not for long enough")
		s.exec(t, "UPDATE rowlock_lease SET token = 9000000000000000 WHERE holder = 'tester released'")
		require.Equal(t, 2, prune(30*time.Minute))
		list, err := b.List(t.Context(), "", true)
		require.NoError(t, err)
		require.Len(t, list, 2, "alive, and closed")
		require.Equal(t, []driver.Outcome{driver.Renewed, driver.Lost}, renew(t, b, alive, expired))
		require.ErrorIs(t, b.Release(t.Context(), expired), driver.ErrNotHeld)
		require.Greater(t, acquire(t, b, request("released")).Token, driver.Token(9000000000000000))
		require.NoError(t, b.Release(t.Context(), alive))
		require.Greater(t, acquire(t, b, request("alive")).Token, driver.Token(9000000000000000), "rows that were there too")
	})
}

// While Prune continuously deletes every free row, each grant of a name still has a larger token than the grant
// before. No live lease disappears, and no two leases of a name overlap.
func TestPruningHurtsNoGrant(t *testing.T) {
	eachSetting(t, func(t *testing.T, s *store) {
		const names, workers = 2, 4
		rounds := 2 * s.rounds(t)
		var wg, pruning sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		pruner := s.open()
		forgotten := 0
		pruning.Go(func() {
			for ctx.Err() == nil {
				n, err := pruner.Prune(t.Context(), 0)
				if !driver.IsNotApplied(err) || driver.IsPermanent(err) {
					assert.NoError(t, err)
				}
				forgotten += n
			}
		})
		var histories [names]history
		for w := range workers {
			b := s.open()
			h := &histories[w%names]
			name := fmt.Sprintf("job %d", w%names)
			wg.Go(func() {
				for range rounds {
					g, ok := insist(t, func() (driver.Grant, error) { return b.Acquire(t.Context(), request(name)) })
					if !ok {
						return
					}
					h.grant(t, g.Token)
					o, err := b.Renew(t.Context(), []driver.Grant{g})
					if assert.NoError(t, err) {
						assert.NotEqual(t, driver.Lost, o[0], "a lease that is alive vanished")
					}
					h.end(t, g.Token)
					releaseAtLast(t, b, g)
				}
			})
		}
		wg.Wait()
		stop()
		pruning.Wait()
		assert.Positive(t, forgotten)
	})
}
