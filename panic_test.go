package rowlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/memlock"
)

type panicking struct{}

func (panicking) Seal(context.Context, *rowlock.Lease, ...string) error { panic("guard") }

// Promise 5 of docs/guarantees.md: if a guard or a trace panics in Acquire, no lease remains that is renewed
// indefinitely. The program may continue, like a server after a panic of a handler.
func TestAPanicInAcquireLeavesNoLease(t *testing.T) {
	for name, opt := range map[string]rowlock.Option{
		"guard": rowlock.Fenced(panicking{}),
		"trace": rowlock.Tracing(&rowlock.Trace{Acquired: func(rowlock.AcquiredEvent) { panic("trace") }}),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l := locker(t, store)
				require.PanicsWithValue(t, name, func() { _, _ = l.Acquire(background, "a", opt) })
				require.PanicsWithValue(t, name, func() { _, _ = l.TryAcquire(background, "b", opt) })
				require.PanicsWithValue(t, name, func() {
					_ = rowlock.Lead(background, l, "c", func(context.Context, *rowlock.Lease) error { return nil }, opt)
				})
				for _, free := range []string{"a", "b", "c"} {
					_, err := locker(t, store).TryAcquire(background, free)
					require.NoError(t, err)
				}
			})
		})
	}
}
