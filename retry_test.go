package rowlock_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// An error names the operation and the lock only once, even if the backend's error contains the same text.
func TestAnErrorSaysOnceWhatFailed(t *testing.T) {
	store := memlock.New()
	store.Intercept(func(memlock.Call) memlock.Fault {
		return memlock.Fault{Fail: driver.Permanent(errors.New(`sqllock: acquire "nightly": no password`))}
	})
	l, err := rowlock.New(store)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	_, err = l.TryAcquire(t.Context(), "nightly")
	require.EqualError(t, err, `rowlock: acquire "nightly": store unavailable: sqllock: no password`)
}
