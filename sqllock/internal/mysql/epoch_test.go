package mysql

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// After a change of server (a failover, a restored backup), no lock is granted for longest_ttl_us, whether or not the
// lock has a row. Leases that are stored on the new server can still be renewed.
func TestMySQLQuarantinesAnotherServer(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		long := request("long")
		long.TTL, long.HandoverDelay = 10*time.Minute, time.Minute
		g := mustAcquire(t, f, long)
		require.NoError(t, f.Release(limited(t), mustAcquire(t, f, request("free"))))

		f.moveHere(t)
		for _, name := range []string{"free", "never seen"} {
			for _, waiting := range []bool{false, true} {
				r := request(name)
				r.Waiting = waiting
				_, err := f.Acquire(limited(t), r)
				held := requireHeld(t, err, driver.Quarantine)
				assert.InDelta(t, 11*time.Minute, held.ExpiresIn, float64(time.Minute))
			}
		}
		tx, err := f.db.BeginTx(limited(t), nil)
		require.NoError(t, err)
		requireHeld(t, inTx(limited(t), f.Backend, tx, "free"), driver.Quarantine)
		require.NoError(t, tx.Rollback())
		_, err = f.Acquire(limited(t), request("long"))
		requireHeld(t, err, driver.Leased)
		outcomes, err := f.Renew(limited(t), []driver.Grant{g})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
		require.NoError(t, f.Release(limited(t), g))

		f.Exec(t, "UPDATE rowlock_lease_meta SET quarantined_until = UTC_TIMESTAMP(6)")
		mustAcquire(t, f, request("free"))
		mustAcquire(t, f, request("never seen"))
	})
}

// moveHere changes the meta row as if another server had granted all leases until now.
func (f *fixture) moveHere(t *testing.T) {
	t.Helper()
	f.Exec(t, "UPDATE rowlock_lease_meta SET epoch = 'another server'")
	known := *f.meta.Load()
	known.epoch, known.asked = "another server", time.Now()
	f.meta.Store(&known)
}

// A grant relies on an earlier read of the meta row only if the age of that read is much smaller than the shortest
// quarantine. The age is measured with the wall clock and with the monotonic clock. The row was read for an earlier
// grant. If the new grant may keep its lock unavailable for longer than the earlier grant, it does not rely on that
// read.
func TestMySQLLooksAgainInTime(t *testing.T) {
	t.Parallel()
	const shortestQuarantine = time.Minute // the first value of rowlock_lease_meta.longest_ttl_us, which the migration sets
	require.Less(t, metaSeenFor, shortestQuarantine/2)
	r := request("a")
	now := time.Now()
	m := &metaSeen{closedFor: sqlbase.ClosedFor(r), asked: now}
	assert.True(t, m.covers(r, now.Add(metaSeenFor-time.Millisecond)))
	assert.False(t, m.covers(r, now.Add(metaSeenFor)))
	assert.False(t, m.covers(r, now.Round(0).Add(-time.Second)), "the clock was set back")
	assert.False(t, (*metaSeen)(nil).covers(r, now))
	r.HandoverDelay = time.Microsecond
	assert.False(t, m.covers(r, now))
}

// The floor is at least the largest pruned token. If the server's clock is behind the last token or the floor, the next
// token is still larger than both. The test covers a lock with a row and a pruned lock.
func TestMySQLTokensRiseAboveTheFloor(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		require.NoError(t, f.Release(limited(t), mustAcquire(t, f, request("known"))))
		const floor = int64(8_000_000_000_000_000)
		f.Exec(t, "UPDATE rowlock_lease_meta SET floor = ?", floor)
		f.Backend.meta.Store(nil) // makes the backend read the floor, because otherwise the value may be ten seconds old
		for _, name := range []string{"known", "new"} {
			g := mustAcquire(t, f, request(name))
			assert.EqualValues(t, floor+1, g.Token, name)
			require.NoError(t, f.ForceRelease(limited(t), g.Key, g.Token, true))
			assert.EqualValues(t, floor+3, mustAcquire(t, f, request(name)).Token, name)
		}
		tx, err := f.db.BeginTx(limited(t), nil)
		require.NoError(t, err)
		require.NoError(t, inTx(limited(t), f.Backend, tx, "made by a transaction"))
		require.NoError(t, tx.Commit())
		assert.EqualValues(t, floor+1, mustAcquire(t, f, request("made by a transaction")).Token)
	})
}
