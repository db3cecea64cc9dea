package sqllock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// A sealed grant raises the fence mark of the lock's own name: the first grant does so, each later grant, and a
// repeated request of the same grant.
func TestAGrantSeals(t *testing.T) {
	eachSealer(t, func(t *testing.T, s *store, b *sqllock.Backend) {
		r := sealing()
		first := sealed(t, s, b, r)
		assert.Equal(t, first, sealed(t, s, b, r), "the reply was lost")
		require.NoError(t, b.Release(t.Context(), first))
		second := sealed(t, s, b, sealing())
		assert.Greater(t, second.Token, first.Token)
		s.exec(t, "UPDATE rowlock_lease_fence SET token = 0, domain = ''")
		require.NoError(t, b.Release(t.Context(), second))
		sealed(t, s, b, sealing())
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM rowlock_lease_fence"))
	})
}

// Only a grant of a request with Seal set changes a fence mark.
func TestOnlyGrantsSeal(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		acquire(t, b, request("job"))
		refused(t, b, sealing())
		assert.Zero(t, s.int(t, "SELECT count(*) FROM rowlock_lease_fence"))
	})
}

// A grant does not change a fence mark that has a larger token, the same token of another grant, or another domain.
// The grant then reports that it did not seal.
func TestAGrantSealsNoMarkThatIsAhead(t *testing.T) {
	eachSealer(t, func(t *testing.T, s *store, b *sqllock.Backend) {
		sealed(t, s, b, sealing())
		for what, marked := range map[string]string{
			"a newer token":                "token = 8000000000000000002",
			"the same token of another":    "token = 8000000000000000001",
			"an older one of another lock": "token = 1, domain = 'store other'",
		} {
			s.exec(t, "UPDATE rowlock_lease SET token = 8000000000000000000")
			s.exec(t, "UPDATE rowlock_lease_fence SET domain = '"+domain+"'")
			s.exec(t, "UPDATE rowlock_lease_fence SET "+marked)
			s.grow(t, time.Hour)
			before := s.mark(t, "job")
			g := acquire(t, b, sealing())
			assert.EqualValues(t, 8000000000000000001, g.Token, what)
			assert.Equal(t, before, s.mark(t, "job"), what)
		}
	})
}

// If the table of the fence marks is outdated or missing, the lock is granted nevertheless, and the guard reports the
// error.
func TestAGrantNeedsNoMark(t *testing.T) {
	eachSealer(t, func(t *testing.T, s *store, b *sqllock.Backend) {
		s.exec(t, "ALTER TABLE rowlock_lease_fence DROP COLUMN domain")
		require.NoError(t, b.Release(t.Context(), acquire(t, b, sealing())))
		s.exec(t, "DROP TABLE rowlock_lease_fence")
		acquire(t, b, sealing())
	})
}

// On MySQL and MariaDB a grant does not seal: the guard seals with a separate statement.
func TestMySQLGrantsSealNothing(t *testing.T) {
	eachOf(t, mainHandle, func(t *testing.T, s *store) {
		b := s.open()
		assert.Zero(t, b.Capabilities().SealsAt)
		acquire(t, b, sealing())
		assert.Zero(t, s.int(t, "SELECT count(*) FROM rowlock_lease_fence"))
	}, migrations.MySQL)
}

// A sealed grant is refused during the quarantine. A sealed grant first raises longest_ttl_us in the meta row to the
// time for which it may keep the lock unavailable. Both are true whether or not the lock has a row.
func TestASealedGrantKeepsTheQuarantine(t *testing.T) {
	eachSealer(t, func(t *testing.T, s *store, b *sqllock.Backend) {
		require.NoError(t, b.Release(t.Context(), sealed(t, s, b, sealing())))
		unknown := sealing()
		unknown.Key.Name = "without a row"
		requests := []driver.Request{sealing(), unknown}

		longest := 10 * time.Minute
		for _, r := range requests {
			r.Key.Name += " of long"
			for range 2 { // without a row, and then with a row
				longest *= 2
				r.TTL, r.Nonce = longest, driver.NewNonce()
				g := sealed(t, s, b, r)
				require.EqualValues(t, longest.Microseconds(), s.int(t, "SELECT longest_ttl_us FROM rowlock_lease_meta"), r.Key.Name)
				require.NoError(t, b.Release(t.Context(), g))
			}
		}
		s.exec(t, "UPDATE rowlock_lease_meta SET epoch = 'another server'")
		b = s.open()
		for range 2 { // the first request begins the quarantine
			for _, r := range requests {
				h := refused(t, b, r)
				require.Equal(t, driver.Quarantine, h.Reason, r.Key.Name)
				near(t, longest, h.ExpiresIn, r.Key.Name)
			}
		}
		s.grow(t, longest-time.Minute)
		for _, r := range requests {
			require.Equal(t, driver.Quarantine, refused(t, b, r).Reason, "%s: not a minute too early", r.Key.Name)
		}
		s.grow(t, time.Minute)
		for _, r := range requests {
			sealed(t, s, b, r)
		}
	})
}
