package fence

import (
	"context"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/memlock"
)

// A driver that is interrupted by ctx may report only that its connection is broken. If the lease is not lost,
// the error is still an ErrRetry.
func TestAnInterruptedDriverIsToBeRunAgain(t *testing.T) {
	l, err := rowlock.New(memlock.New())
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	lease, err := l.Acquire(t.Context(), "r")
	require.NoError(t, err)
	c, err := newClaim("test", lease, nil)
	require.NoError(t, err)
	bounded, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	err = c.wrap(t.Context(), "seal", interrupted(bounded, mysqldriver.ErrInvalidConn))
	require.ErrorIs(t, err, ErrRetry)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, mysqldriver.ErrInvalidConn.Error())
	require.NotContains(t, err.Error(), "%!", "the error is not changed otherwise")
	require.NotErrorIs(t, interrupted(bounded, &StaleError{}), context.DeadlineExceeded)
	require.NoError(t, interrupted(bounded, nil))
	require.Equal(t, mysqldriver.ErrInvalidConn, interrupted(t.Context(), mysqldriver.ErrInvalidConn))
}

// If the caller's ctx and the lease have ended, the error contains each of these two causes once.
func TestAnErrorSaysOnceWhatHasEnded(t *testing.T) {
	l, err := rowlock.New(memlock.New())
	require.NoError(t, err)
	lease, err := l.Acquire(t.Context(), "r")
	require.NoError(t, err)
	c, err := newClaim("test", lease, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.EqualError(t, c.wrap(ctx, "seal", context.Canceled), `fence: seal "r": context canceled`)
	require.EqualError(t, c.wrap(ctx, "seal", errOldSnapshot), `fence: seal "r": `+errOldSnapshot.Error()+": context canceled")
	require.EqualError(t, c.wrap(t.Context(), "seal", errOldSnapshot), `fence: seal "r": `+errOldSnapshot.Error())
	require.NoError(t, l.Close())
	require.ErrorIs(t, c.wrap(t.Context(), "seal", errOldSnapshot), rowlock.ErrNotHeld)
}
