package sqllock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock"
)

// After a change of server, no lock is granted for the longest time for which a grant of the lost server could keep a
// lock unavailable. After that time, every lease that the lost server granted has ended.
func TestANewServerGrantsNothingForOneLongestTTL(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		long := request("long")
		long.TTL, long.HandoverDelay = 20*time.Minute, 10*time.Minute
		g := acquire(t, b, long)
		s.exec(t, "UPDATE rowlock_lease_meta SET epoch = 'another server'")
		b = s.open() // a new backend has not cached which server granted last
		for range 2 {
			h := refused(t, b, request("job"))
			assert.Equal(t, driver.Quarantine, h.Reason)
			near(t, 30*time.Minute, h.ExpiresIn, "one longest TTL, with its hand-over delay")
		}
		require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, b, g), "who is known goes on")
		require.Equal(t, driver.Leased, refused(t, b, request("long")).Reason, "the holder is reported nevertheless")
		require.NoError(t, b.Release(t.Context(), g))
		require.Equal(t, driver.Quarantine, refused(t, b, request("long")).Reason)
		s.grow(t, 29*time.Minute)
		require.Equal(t, driver.Quarantine, refused(t, b, request("job")).Reason, "not a minute too early")
		s.grow(t, time.Minute)
		acquire(t, b, request("job"))
		require.Greater(t, acquire(t, b, request("long")).Token, g.Token)
	})
}

// A program with write access can change the meta row. It may store a value of longest_ttl_us that no option permits,
// and the identity of a server that never existed. The quarantine still lasts at most 14 days.
func TestTheQuarantineIsNoLongerThanAnyLease(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		acquire(t, s.open(), request("job"))
		s.exec(t, "UPDATE rowlock_lease_meta SET epoch = 'another server', longest_ttl_us = 9000000000000000")
		h := refused(t, s.open(), request("another"))
		require.Equal(t, driver.Quarantine, h.Reason)
		near(t, 14*24*time.Hour, h.ExpiresIn, "the longest TTL, and the longest hand-over delay")
	})
}

// In an empty table, the first grant is not delayed by a quarantine.
func TestAnEmptyTableHasNoQuarantine(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		require.Zero(t, s.int(t, "SELECT length(epoch) FROM rowlock_lease_meta"))
		acquire(t, s.open(), request("job"))
		require.Positive(t, s.int(t, "SELECT length(epoch) FROM rowlock_lease_meta"))
	})
}

// A grant first raises longest_ttl_us in the meta row to the time for which the grant may keep the lock unavailable,
// unless the stored value is already larger.
func TestTheLongestTTLIsOnRecord(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		longest := func() time.Duration {
			return time.Duration(s.int(t, "SELECT longest_ttl_us FROM rowlock_lease_meta")) * time.Microsecond
		}
		r := request("ttl")
		r.TTL, r.HandoverDelay = time.Hour, time.Hour
		acquire(t, b, r)
		require.Equal(t, 2*time.Hour, longest())
		r = request("min hold")
		r.MinHold = 3 * time.Hour
		acquire(t, b, r)
		require.Equal(t, 3*time.Hour, longest())
		acquire(t, b, request("short"))
		require.Equal(t, 3*time.Hour, longest(), "it never falls")
		r = request("ttl")
		r.TTL = 10 * time.Hour
		refused(t, b, r)
		require.Equal(t, 3*time.Hour, longest(), "what is not granted is not on record")
	})
}

// InTx is refused during the quarantine. If InTx is the first call that detects the change of server, it begins the
// quarantine. The transaction stays usable.
func TestInTxKeepsTheQuarantine(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		acquire(t, b, request("other"))
		s.exec(t, "UPDATE rowlock_lease_meta SET epoch = 'another server'")
		tx := s.begin(t)
		h := held(t, b.InTx(t.Context(), tx, "job"))
		require.Equal(t, driver.Quarantine, h.Reason)
		var one int
		require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT 1").Scan(&one), "the transaction goes on")
		require.NoError(t, tx.Rollback())
		require.Equal(t, driver.Quarantine, refused(t, b, request("job")).Reason)
		s.grow(t, time.Hour)
		tx = s.begin(t)
		require.NoError(t, b.InTx(t.Context(), tx, "job", sqllock.TxWait(0)))
		require.NoError(t, tx.Commit())
	})
}
