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

// bubble runs f in virtual time, in which every goroutine of the lockers must end.
func bubble(t *testing.T, f func(t *testing.T, store *memlock.Backend)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, memlock.New()) })
}

// locker returns a Locker on store, closed when the test ends.
func locker(t *testing.T, store driver.Backend, opts ...rowlock.Option) *rowlock.Locker {
	t.Helper()
	l, err := rowlock.New(store, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func acquire(t *testing.T, l *rowlock.Locker, name string, opts ...rowlock.Option) *rowlock.Lease {
	t.Helper()
	lease, err := l.Acquire(t.Context(), name, opts...)
	require.NoError(t, err)
	return lease
}

// until waits for done, in virtual time, and returns how long that took; never is a failure.
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

// faults has each kind of request befallen by one fault, until it is called again.
func faults(store *memlock.Backend, of map[memlock.Op]memlock.Fault) {
	store.Intercept(func(c memlock.Call) memlock.Fault { return of[c.Op] })
}

var background = context.Background()
