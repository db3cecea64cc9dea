package sessionlock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Promise: an idle session keeps its connection for the time Linger, and the next request uses the same connection.
func TestAnIdleSessionIsUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		returned := 0
		s := &Store[int]{Most: 2, Linger: time.Second, Link: func(*Session[int]) Link[int] { return counted{returned: &returned} }}
		first, err := s.anyTurn(t.Context())
		require.NoError(t, err)
		first.Leave()

		time.Sleep(time.Second - 1)
		synctest.Wait()
		again, err := s.anyTurn(t.Context())
		require.NoError(t, err)
		require.Same(t, first, again)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Zero(t, returned, "a session in use was returned")
		require.NoError(t, again.Context().Err())
		again.Leave()

		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 1, returned)
		require.Error(t, again.Context().Err())
		require.True(t, s.Idle())
	})
}

// Promise: idle sessions do not add to the limit of connections, and a waiter can use them.
func TestAWaiterUsesAnIdleSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		returned := 0
		s := &Store[int]{Most: 2, Waiting: 1, Linger: time.Second, Link: func(*Session[int]) Link[int] { return counted{returned: &returned} }}
		first, err := s.anyTurn(t.Context())
		require.NoError(t, err)
		first.Leave()
		require.Same(t, first, s.waiter())
		require.Nil(t, s.waiter(), "only one session may wait")
	})
}
