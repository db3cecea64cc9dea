package rowlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubble runs f in virtual time. All goroutines of the lockers must end before f returns.
func bubble(t *testing.T, f func(t *testing.T, store *memlock.Backend)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, memlock.New()) })
}

// locker returns a Locker on the given store, which is closed when the test ends.
func locker(t *testing.T, store driver.Backend, opts ...rowlock.Option) *rowlock.Locker {
	t.Helper()
	l, err := rowlock.New(store, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// soon is the limit for operations that do not have to wait. It is less than a TTL. In virtual time,
// a wait for the end of a lease takes no real time. Without this limit, a test would not notice such a wait.
const soon = 2 * time.Second

// acquire returns a lease on a free name. The test fails if the call has to wait.
func acquire(t *testing.T, l *rowlock.Locker, name string, opts ...rowlock.Option) *rowlock.Lease {
	t.Helper()
	lease, _ := acquireWithin(t, soon, l, name, opts...)
	return lease
}

// acquireWithin returns a lease on a name that becomes free within limit, and the duration of the wait.
func acquireWithin(t *testing.T, limit time.Duration, l *rowlock.Locker, name string, opts ...rowlock.Option) (*rowlock.Lease, time.Duration) {
	t.Helper()
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	lease, err := l.Acquire(ctx, name, opts...)
	require.NoError(t, err)
	return lease, time.Since(start)
}

// receive returns the next value of the channel. The test fails if no value arrives within soon.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	var got T
	select {
	case got = <-from:
	case <-time.After(soon):
		require.FailNow(t, "nothing arrived soon")
	}
	return got
}

// until waits in virtual time until done is closed, and returns the duration of the wait. The test fails after an hour.
func until(t *testing.T, done <-chan struct{}) time.Duration {
	t.Helper()
	start := time.Now()
	select {
	case <-done:
	case <-time.After(time.Hour):
		t.Fatal("it did not happen within an hour")
	}
	return time.Since(start)
}

// faults sets the fault of each kind of request, and removes all earlier faults.
func faults(store *memlock.Backend, of map[memlock.Op]memlock.Fault) {
	store.Intercept(func(c memlock.Call) memlock.Fault { return of[c.Op] })
}

var background = context.Background()
