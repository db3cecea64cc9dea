package sqllock_test

import (
	"sync"
	"testing"

	"github.com/rowlock/rowlock/driver"
)

// Eight goroutines on three pools compete for one lock. No two hold the lock at the same time, each grant has a
// larger token than the grant before, and every error is *driver.Held.
func TestGrantsNeverOverlap(t *testing.T) {
	eachSetting(t, func(t *testing.T, s *store) {
		rounds := s.rounds(t)
		var h history
		var wg sync.WaitGroup
		for range 3 {
			b := s.open()
			for range 3 {
				wg.Go(func() {
					for range rounds {
						g, ok := insist(t, func() (driver.Grant, error) { return b.Acquire(t.Context(), request("job")) })
						if !ok {
							return
						}
						h.grant(t, g.Token)
						h.end(t, g.Token)
						releaseAtLast(t, b, g)
					}
				})
			}
		}
		wg.Wait()
	})
}
