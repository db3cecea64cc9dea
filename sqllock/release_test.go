package sqllock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// A release frees the lock at once, and keeps the row with its token. A repeated release succeeds.
func TestAReleaseFreesAndMayBeRepeated(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		g := acquire(t, b, request("job"))
		for range 3 {
			require.NoError(t, b.Release(t.Context(), g))
		}
		assert.Equal(t, g.Token, inspect(t, b, "job").Token)
		require.Equal(t, []driver.Outcome{driver.Lost}, renew(t, b, g))
		next := acquire(t, b, request("job"))
		require.ErrorIs(t, b.Release(t.Context(), g), driver.ErrNotHeld, "another has it by now")
		require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, b, next), "and keeps it")
	})
}

// A release ends a grant only if name, nonce and token match.
func TestAReleaseEndsItsOwnGrantOnly(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		g := acquire(t, b, request("job"))
		wrongToken, wrongNonce, wrongName, wrongNamespace := g, g, g, g
		wrongToken.Token--
		wrongNonce.Nonce = driver.NewNonce()
		wrongName.Key.Name = "JOB"
		wrongNamespace.Key.Namespace = "ns"
		for _, wrong := range []driver.Grant{wrongToken, wrongNonce, wrongName, wrongNamespace} {
			require.ErrorIs(t, b.Release(t.Context(), wrong), driver.ErrNotHeld, "%+v", wrong)
		}
		require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, b, g))
	})
}

// A release with token 0 ends any grant of the nonce, and no other grant. So a grant whose reply was lost can be
// released without its token.
func TestAReleaseWithoutTokenTakesBackWhatTheNonceWasGranted(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		g := acquire(t, b, request("job"))
		unknown := g
		unknown.Token, unknown.Nonce = 0, driver.NewNonce()
		require.ErrorIs(t, b.Release(t.Context(), unknown), driver.ErrNotHeld)
		g.Token = 0
		require.NoError(t, b.Release(t.Context(), g))
		require.ErrorIs(t, b.Release(t.Context(), g), driver.ErrNotHeld, "there is nothing left to release")
		unknown.Key.Name = "unseen"
		require.ErrorIs(t, b.Release(t.Context(), unknown), driver.ErrNotHeld)
		acquire(t, b, request("job"))
	})
}

// If a grant has expired and the lock was not granted again, the holder can still release it. The release ends the
// hand-over delay.
func TestAnExpiredGrantCanBeReleased(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		r := request("job")
		r.HandoverDelay = time.Hour
		g := acquire(t, b, r)
		s.grow(t, time.Minute)
		require.NoError(t, b.Release(t.Context(), g))
		acquire(t, b, request("job"))
	})
}

// If another transaction has locked the row, a release waits for a bounded time. Then its error says that the release
// was not applied.
func TestAReleaseWaitsWithinItsContext(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		if s.oneFile {
			return // see TestSQLiteCallsEndWithTheirContextWhileTheFileIsBusy
		}
		b := s.open()
		g := acquire(t, b, request("job"))
		tx := s.begin(t)
		var token int64
		require.NoError(t, tx.QueryRowContext(t.Context(), s.sql("SELECT token FROM rowlock_lease WHERE name = 'job' FOR UPDATE")).Scan(&token))
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()
		err := b.Release(ctx, g)
		require.Error(t, err)
		require.NotErrorIs(t, err, driver.ErrNotHeld)
		assert.Less(t, time.Since(start), 5*time.Second)
		require.NoError(t, tx.Rollback())
		require.NoError(t, b.Release(t.Context(), g))
	})
}
