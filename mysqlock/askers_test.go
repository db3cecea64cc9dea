package mysqlock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// Many callers of one process request the same lock at the same time, on one connection.
// The server would grant the lock to that connection each time. The backend grants it to one caller only,
// and one release frees it.
func TestAskersOfOneConnection(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		db, proxy := s.through(t)
		b := New(db, Sessions(1))
		require.NoError(t, b.Release(limited(t), grant(t, b, "warm")))
		proxy.Delay(20 * time.Millisecond) // all requests are sent before the first answer
		const askers = 6
		grants, errs := make(chan driver.Grant, askers), make(chan error, askers)
		for range askers {
			go func() {
				g, err := b.Acquire(limited(t), request("a"))
				if err == nil {
					grants <- g
				}
				errs <- err
			}()
		}
		for range askers {
			if err := <-errs; err != nil {
				refused(t, err)
			}
		}
		proxy.Delay(0)
		require.Len(t, grants, 1)
		keep := grant(t, b, "keep") // keeps the session open; otherwise its end would also release a lock that was acquired twice
		require.NoError(t, b.Release(limited(t), <-grants))
		require.Zero(t, s.holds(t, "a"))
		require.NoError(t, b.Release(limited(t), keep))
		idle(t, b)
	})
}

// The server may answer an unlock statement that the session did not have the lock. The backend then closes the
// session, and all leases of the session are lost.
func TestAnswerOfAnUnlockIsChecked(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := New(s.open(t), Sessions(1))
		first, second := grant(t, b, "a"), grant(t, b, "b")
		s.unlock(t, b, "a")
		session := second.Session
		require.NoError(t, session.Err())
		require.ErrorIs(t, b.Release(limited(t), first), driver.ErrNotHeld)
		<-session.Done()
		outcomes, err := b.Renew(limited(t), []driver.Grant{second})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Lost}, outcomes)
		becomes(t, "the server has ended the session", func() bool { return s.holds(t, "b") == 0 })
		idle(t, b)
	})
}
