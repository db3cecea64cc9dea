package simulate_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var background = context.Background()

// locker returns a Locker on the given store, closed when the test ends.
func locker(t *testing.T, store driver.Backend, opts ...rowlock.Option) *rowlock.Locker {
	t.Helper()
	l, err := rowlock.New(store, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// acquire returns a lease on a free name. It fails the test if Acquire has to wait. Without that check the wait would
// stay unnoticed, because it takes no real time.
func acquire(t *testing.T, l *rowlock.Locker, name string) *rowlock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	lease, err := l.Acquire(ctx, name)
	require.NoError(t, err)
	return lease
}
