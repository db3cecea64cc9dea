package rowlock_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/memlock"
)

// Promise 10 of docs/guarantees.md: any function of a Trace may call Close. Close then returns after it has released
// every lease. Some programs close their locker after a loss.
func TestEachFunctionOfATraceMayClose(t *testing.T) {
	for name, then := range map[string]func(t *testing.T, store *memlock.Backend, l *rowlock.Locker){
		"Waiting": func(t *testing.T, _ *memlock.Backend, l *rowlock.Locker) {
			_, err := l.Acquire(background, "held")
			require.ErrorIs(t, err, rowlock.ErrClosed)
		},
		"Acquired": func(t *testing.T, _ *memlock.Backend, l *rowlock.Locker) {
			_, _ = l.Acquire(background, "a")
		},
		"AcquireFailed": func(t *testing.T, _ *memlock.Backend, l *rowlock.Locker) {
			_, _ = l.TryAcquire(background, "held")
		},
		"HeldByOther": func(t *testing.T, _ *memlock.Backend, l *rowlock.Locker) {
			_, _ = l.TryAcquire(background, "held")
		},
		"Renewed": func(*testing.T, *memlock.Backend, *rowlock.Locker) {},
		"RenewalFailed": func(_ *testing.T, store *memlock.Backend, _ *rowlock.Locker) {
			faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {Fail: errSpoiled}})
		},
		"Lost": func(_ *testing.T, store *memlock.Backend, _ *rowlock.Locker) {
			store.Lose("lost")
		},
		"Released": func(t *testing.T, _ *memlock.Backend, l *rowlock.Locker) {
			require.NoError(t, acquire(t, l, "a").Release(background))
		},
		"Released by Close": func(t *testing.T, _ *memlock.Backend, l *rowlock.Locker) {
			require.NoError(t, l.Close())
		},
		"Resolved": func(t *testing.T, store *memlock.Backend, l *rowlock.Locker) {
			faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {LoseReply: true}})
			_, err := l.TryAcquire(background, "a")
			require.ErrorIs(t, err, rowlock.ErrUnavailable)
			faults(store, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				var armed atomic.Bool
				var l *rowlock.Locker
				var kept *rowlock.Lease
				closed := make(chan struct{}, 100)
				hear := func(event string) {
					if !armed.Load() || event != strings.Fields(name)[0] {
						return
					}
					start := time.Now()
					assert.NoError(t, l.Close())
					assert.Less(t, time.Since(start), time.Second)
					assert.ErrorIs(t, kept.Err(), rowlock.ErrReleased)
					closed <- struct{}{}
				}
				l = locker(t, store, rowlock.TTL(ttl), rowlock.Tracing(&rowlock.Trace{
					Waiting:       func(rowlock.WaitingEvent) { hear("Waiting") },
					Acquired:      func(rowlock.AcquiredEvent) { hear("Acquired") },
					AcquireFailed: func(rowlock.AcquireFailedEvent) { hear("AcquireFailed") },
					HeldByOther:   func(rowlock.HeldByOtherEvent) { hear("HeldByOther") },
					Renewed:       func(rowlock.RenewedEvent) { hear("Renewed") },
					RenewalFailed: func(rowlock.RenewalFailedEvent) { hear("RenewalFailed") },
					Lost:          func(rowlock.LostEvent) { hear("Lost") },
					Released:      func(rowlock.ReleasedEvent) { hear("Released") },
					Resolved:      func(rowlock.ResolvedEvent) { hear("Resolved") },
				}))
				acquire(t, l, "lost")
				kept = acquire(t, l, "kept")
				acquire(t, locker(t, store), "held")
				armed.Store(true)
				then(t, store, l)
				until(t, closed)
				_, err := locker(t, store).TryAcquire(background, "kept")
				require.NoError(t, err)
			})
		})
	}
}
