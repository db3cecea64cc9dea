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

// A driver that is interrupted may say that its connection is broken, and no more. Whoever has not lost the lease is told
// to run it again all the same.
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
	require.NotErrorIs(t, interrupted(bounded, &StaleError{}), context.DeadlineExceeded)
	require.NoError(t, interrupted(bounded, nil))
	require.Equal(t, mysqldriver.ErrInvalidConn, interrupted(t.Context(), mysqldriver.ErrInvalidConn))
}
