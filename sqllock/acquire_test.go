package sqllock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock"
)

// A refused acquire reports the holder, the reason, when the lock was granted and when it becomes free.
func TestARefusedAcquireSaysWhoHolds(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		first := request("job")
		g := acquire(t, b, first)
		s.grow(t, 12*time.Second)
		h := refused(t, s.open(), request("job"))
		assert.Equal(t, driver.Leased, h.Reason)
		assert.Equal(t, first.Holder, h.Holder)
		assert.Equal(t, first.Note, h.Note)
		assert.Equal(t, g.Token, h.Token)
		near(t, 12*time.Second, h.Since, "since")
		near(t, 18*time.Second, h.ExpiresIn, "expires in")
		acquire(t, b, request("another job"))
	})
}

// If an acquire is repeated with the same nonce, because its reply was lost, it returns the same grant with a full
// TTL.
func TestTheSameNonceGetsTheSameGrant(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		r := request("job")
		r.HandoverDelay = time.Hour
		g := acquire(t, b, r)
		s.grow(t, 20*time.Second)
		require.Equal(t, g, acquire(t, b, r), "alive")
		st, err := b.Inspect(t.Context(), r.Key)
		require.NoError(t, err)
		near(t, 30*time.Second, st.ExpiresIn, "counted anew")
		near(t, 20*time.Second, st.Age, "the grant is as old as it is")
		s.grow(t, time.Minute)
		require.Equal(t, driver.Handover, refused(t, b, request("job")).Reason)
		require.Equal(t, g, acquire(t, b, r), "expired, and nobody came in between")
	})
}

// Each grant has a larger token than the grant before, also after a release, an expiry or a forced release. No token
// is smaller than the store's clock in microseconds. So no token is granted twice after a backup is restored.
func TestTokensRise(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		start := time.Now()
		last := driver.Token(start.Add(-time.Minute).UnixMicro())
		next := func(g driver.Grant) driver.Grant {
			t.Helper()
			require.Greater(t, g.Token, last)
			last = g.Token
			return g
		}
		g := next(acquire(t, b, request("job")))
		require.NoError(t, b.Release(t.Context(), g))
		next(acquire(t, b, request("job")))
		s.grow(t, time.Minute)
		g = next(acquire(t, b, request("job")))
		require.NoError(t, b.ForceRelease(t.Context(), g.Key, g.Token, true))
		g = next(acquire(t, b, request("job")))
		require.NoError(t, b.Release(t.Context(), g))
		s.exec(t, "UPDATE rowlock_lease_meta SET floor = 9000000000000000")
		b = s.open() // a new backend, because the first one may still rely on its earlier read of the meta row
		g = next(acquire(t, b, request("job")))
		require.EqualValues(t, 9000000000000001, g.Token, "above the floor")
		require.NoError(t, b.Release(t.Context(), g))
		next(acquire(t, b, request("job")))
		require.Greater(t, acquire(t, b, request("new")).Token, driver.Token(9000000000000000), "a new name too")
	})
}

// A lease that is not renewed ends when its TTL is over by the store's clock. All processes then see it as expired.
func TestAnExpiredLeaseIsFree(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		short := request("job")
		short.TTL = 100 * time.Millisecond
		g := acquire(t, b, short)
		until(t, "expiry", func() bool {
			next, err := b.Acquire(t.Context(), request("job"))
			if err != nil {
				held(t, err)
				return false
			}
			return assert.Greater(t, next.Token, g.Token)
		})
		require.Equal(t, []driver.Outcome{driver.Lost}, renew(t, b, g))
	})
}

// After a release or an expiry, a minimum hold keeps the lock unavailable until MinHold after the grant.
func TestMinHoldKeepsAReleasedLockClosed(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		r := request("job")
		r.MinHold = time.Hour
		g := acquire(t, b, r)
		s.grow(t, 10*time.Minute)
		h := refused(t, b, request("job"))
		assert.Equal(t, driver.Handover, h.Reason, "expired, and closed")
		near(t, 50*time.Minute, h.ExpiresIn, "until the minimum hold is over")
		require.NoError(t, b.Release(t.Context(), g))
		h = refused(t, b, request("job"))
		assert.Equal(t, driver.MinHold, h.Reason)
		assert.Equal(t, r.Holder, h.Holder, "who held it last")
		near(t, 50*time.Minute, h.ExpiresIn, "until the minimum hold is over")
		s.grow(t, 50*time.Minute)
		acquire(t, b, request("job"))
	})
}

// A hand-over delay keeps the lock unavailable after an expiry, but not after a release.
func TestHandoverDelayFollowsAnExpiryOnly(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		r := request("job")
		r.HandoverDelay = time.Hour
		g := acquire(t, b, r)
		near(t, time.Hour+30*time.Second, refused(t, b, request("job")).ExpiresIn, "until it is free unless renewed")
		require.NoError(t, b.Release(t.Context(), g))
		acquire(t, b, request("job"))
		s.grow(t, time.Minute)
		acquire(t, b, r)
		s.grow(t, time.Minute)
		h := refused(t, b, request("job"))
		assert.Equal(t, driver.Handover, h.Reason)
		near(t, 59*time.Minute+30*time.Second, h.ExpiresIn, "the delay counts from the expiry")
		s.grow(t, time.Hour)
		acquire(t, b, request("job"))
	})
}

// If many callers acquire a lock at the same moment, exactly one is granted the lock, even if the lock's row does not
// exist yet. All others are refused without a wait or an error.
func TestOneOfManyIsGranted(t *testing.T) {
	eachSetting(t, func(t *testing.T, s *store) {
		for _, name := range []string{"unseen", "seen"} {
			backends := []func() (driver.Grant, error){}
			for range 2 {
				b := s.open()
				if name == "seen" {
					g := acquire(t, b, request(name))
					require.NoError(t, b.Release(t.Context(), g))
				}
				for range 4 {
					r := request(name)
					backends = append(backends, func() (driver.Grant, error) { return b.Acquire(t.Context(), r) })
				}
			}
			var (
				wg      sync.WaitGroup
				mu      sync.Mutex
				granted int
				start   = make(chan struct{})
			)
			for _, ask := range backends {
				wg.Go(func() {
					<-start
					_, err := ask()
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						granted++
						return
					}
					var h *driver.Held
					assert.ErrorAs(t, err, &h)
				})
			}
			close(start)
			wg.Wait()
			assert.Equal(t, 1, granted, name)
		}
	})
}

// A request with a context that has already ended is not sent, and its error is marked NotApplied.
func TestAnEndedContextAppliesNothing(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		g := acquire(t, b, request("held"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := b.Acquire(ctx, request("job"))
		require.ErrorIs(t, err, context.Canceled)
		assert.True(t, driver.IsNotApplied(err), "%v", err)
		_, err = b.Renew(ctx, []driver.Grant{g})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, b.Release(ctx, g), context.Canceled)
		acquire(t, b, request("job"))
		require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, b, g))
	})
}

// Sessions in different time zones agree on when a lease ends.
func TestTimeZonesDoNotMatter(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		if s.zone == nil {
			return // this engine's sessions have no time zone
		}
		east, west := s.zone("+09:00", sqllock.Table(s.table)), s.zone("-08:00", sqllock.Table(s.table))
		g := acquire(t, east, request("job"))
		h := refused(t, west, request("job"))
		near(t, 30*time.Second, h.ExpiresIn, "seen from the west")
		require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, west, g))
		near(t, 30*time.Second, refused(t, east, request("job")).ExpiresIn, "seen from the east")
		require.NoError(t, west.Release(t.Context(), g))
		acquire(t, east, request("job"))
	})
}
