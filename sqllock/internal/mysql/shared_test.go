package mysql

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// While a lock is shared, its row contains the nonce of the epoch, which package fence compares. The row's expiry is
// the expiry of the share that ends last. After the last release the row contains nothing about the shares.
func TestMySQLTheRowOfASharedLock(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		const expiry = "SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(6), expires_at) FROM rowlock_lease WHERE expires_at = held_until"
		for range 2 { // the first round inserts the row
			long, short := reading("a"), reading("a")
			long.TTL = time.Hour
			f.Exec(t, "UPDATE rowlock_lease_meta SET longest_ttl_us = 3600000000")
			one, two := mustAcquire(t, f, short), mustAcquire(t, f, long)
			assert.Equal(t, driver.EpochNonce(one.Token).String(), f.string(t, "SELECT nonce FROM rowlock_lease"))
			assert.InDelta(t, 3600, f.int(t, expiry), 30)
			require.NoError(t, f.Release(limited(t), two))
			assert.InDelta(t, 60, f.int(t, expiry), 30, "the other share ends earlier")
			assert.Equal(t, driver.EpochNonce(one.Token).String(), f.string(t, "SELECT nonce FROM rowlock_lease"))
			require.NoError(t, f.Release(limited(t), one))
			assert.EqualValues(t, 1, f.int(t, "SELECT COUNT(*) FROM rowlock_lease WHERE nonce IS NULL AND readers IS NULL AND held_until < '1971-01-01'"))
		}
	})
}

// A share that has expired is not counted, does not keep the lock unavailable, and is removed from the row by a later
// request for a share.
func TestMySQLAnExpiredShareIsDropped(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		gone, stays := mustAcquire(t, f, reading("a")), mustAcquire(t, f, reading("a"))
		f.Exec(t, fmt.Sprintf(`UPDATE rowlock_lease SET readers = JSON_SET(readers, '%s', 1)`, sharePath(gone.Nonce)))
		status, err := f.Inspect(limited(t), gone.Key)
		require.NoError(t, err)
		assert.Equal(t, 1, status.Readers)
		got, err := f.Renew(limited(t), []driver.Grant{gone, stays})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Lost, driver.Renewed}, got)
		assert.EqualValues(t, 2, f.int(t, "SELECT JSON_LENGTH(readers) FROM rowlock_lease"))

		waiting := reading("a")
		waiting.Waiting = true
		third := mustAcquire(t, f, waiting)
		assert.EqualValues(t, 2, f.int(t, "SELECT JSON_LENGTH(readers) FROM rowlock_lease"), "one was dropped and one was granted")
		got, err = f.Renew(limited(t), []driver.Grant{stays, third})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, got)
		f.Exec(t, fmt.Sprintf(`UPDATE rowlock_lease SET readers = JSON_SET(readers, '%s', 1)`, sharePath(third.Nonce)))
		require.NoError(t, f.Release(limited(t), stays))
		mustAcquire(t, f, request("a"))
	})
}

// After a writer has been refused because of readers, no further reader is granted a share, even after the last reader
// has released the lock. The row records that a writer waits, but only for a limited time. A reader that repeats its
// request gets its existing share again.
func TestMySQLAWaitingWriterKeepsReadersOut(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		r := reading("a")
		g := mustAcquire(t, f, r)
		_, err := f.Acquire(limited(t), request("a")) // does not wait
		requireHeld(t, err, driver.Leased)
		second := mustAcquire(t, f, reading("a"))
		writer := request("a")
		writer.Waits = true
		_, err = f.Acquire(limited(t), writer)
		requireHeld(t, err, driver.Leased)
		f.Exec(t, "UPDATE rowlock_lease SET writer_until = writer_until + INTERVAL 1 HOUR")
		_, err = f.Acquire(limited(t), reading("a"))
		requireHeld(t, err, driver.Reserved)
		assert.Equal(t, g, mustAcquire(t, f, r))
		require.NoError(t, f.Release(limited(t), g))
		require.NoError(t, f.Release(limited(t), second))
		_, err = f.Acquire(limited(t), reading("a"))
		assert.InDelta(t, time.Hour, requireHeld(t, err, driver.Reserved).ExpiresIn, float64(time.Minute))
		f.Exec(t, "UPDATE rowlock_lease SET writer_until = UTC_TIMESTAMP(6)")
		require.NoError(t, f.Release(limited(t), mustAcquire(t, f, reading("a"))))
		require.NoError(t, f.Release(limited(t), mustAcquire(t, f, writer)))
		assert.Zero(t, f.int(t, "SELECT COUNT(writer_until) FROM rowlock_lease"))
	})
}

// If another transaction has locked the row, a request for a share is refused as contended, and a renewal of a share has
// an unknown outcome, within a bounded time. A release reports that it had no effect.
func TestMySQLSharesOfALockedRowAreBounded(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		for _, level := range isolations {
			b := on(f.open(t, f.isolation(level)))
			g := mustAcquire(t, b, reading("a"))
			other := mustAcquire(t, b, request("b"))
			f.whileLocked(t, lockRow, func() {
				atOnce(t, func() {
					_, err := b.Acquire(limited(t), reading("a"))
					requireHeld(t, err, driver.Contended)
					got, err := b.Renew(limited(t), []driver.Grant{g, other})
					require.NoError(t, err)
					assert.Equal(t, []driver.Outcome{driver.Unknown, driver.Renewed}, got, level)
					err = b.Release(limited(t), g)
					require.Error(t, err)
					assert.True(t, driver.IsNotApplied(err), "%v", err)
				})
			})
			got, err := b.Renew(limited(t), []driver.Grant{g, other})
			require.NoError(t, err)
			assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, got, level)
			require.NoError(t, b.Release(limited(t), g))
			require.NoError(t, b.Release(limited(t), other))
		}
	})
}

// At every isolation level of the transaction and of the readers, a name that a transaction has locked with InTx has no
// readers, and InTx is refused while the name has readers. This is so even if the transaction has an older snapshot.
func TestMySQLInTxExcludesReaders(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		for _, level := range isolations {
			db := f.open(t, f.isolation(level))
			b := on(db)
			require.NoError(t, b.Release(limited(t), mustAcquire(t, b, reading("a"))))
			tx := begin(t, db)
			var id int
			require.NoError(t, tx.QueryRowContext(limited(t), "SELECT id FROM rowlock_lease_meta").Scan(&id))
			g := mustAcquire(t, b, reading("a"))
			assert.Equal(t, 1, requireHeld(t, inTx(limited(t), b, tx, "a"), driver.Leased).Readers, level)
			require.NoError(t, b.Release(limited(t), g))
			require.NoError(t, inTx(limited(t), b, tx, "a"), level)
			for _, by := range []*Backend{b, f.Backend} {
				_, err := by.Acquire(limited(t), reading("a"))
				requireHeld(t, err, driver.Contended)
			}
			require.NoError(t, tx.Commit())
			next := mustAcquire(t, b, reading("a"))
			assert.Greater(t, next.Token, g.Token, level)
			require.NoError(t, b.Release(limited(t), next))
		}
	})
}

// A share is granted and its token is known even if a trigger hides LAST_INSERT_ID.
func TestMySQLSharesWorkUnderTriggers(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		f.Exec(t, "CREATE TABLE audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, token BIGINT NOT NULL)")
		for _, moment := range []string{"INSERT", "UPDATE"} {
			f.Exec(t, "CREATE TRIGGER audit_"+moment+" AFTER "+moment+" ON rowlock_lease FOR EACH ROW INSERT INTO audit (token) VALUES (NEW.token)")
		}
		one, two := mustAcquire(t, f, reading("a")), mustAcquire(t, f, reading("a"))
		assert.Equal(t, one.Token, two.Token)
		assert.EqualValues(t, one.Token, f.int(t, "SELECT token FROM rowlock_lease WHERE name = 'a'"))
		got, err := f.Renew(limited(t), []driver.Grant{one, two})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, got)
		require.NoError(t, f.Release(limited(t), one))
		require.NoError(t, f.Release(limited(t), two))
		assert.Greater(t, mustAcquire(t, f, reading("a")).Token, one.Token)
	})
}

// The last release of a share reserves the lock for the first process of the queue. A release while other shares
// exist reserves nothing.
func TestMySQLTheLastShareKeepsTheNameForTheNext(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		one, two := mustAcquire(t, f, reading("a")), mustAcquire(t, f, reading("a"))
		writer, r := on(f.db), request("a")
		_, stop := waits(t, writer, r)
		defer stop()
		f.seen(t)
		require.NoError(t, f.Release(limited(t), one))
		assert.Zero(t, f.int(t, "SELECT COUNT(reserved_for) FROM rowlock_lease"))
		require.NoError(t, f.Release(limited(t), two))
		assert.Equal(t, writer.waiters.process, f.string(t, "SELECT reserved_for FROM rowlock_lease"))
		f.stretch(t)
		for _, late := range []driver.Request{request("a"), reading("a")} {
			_, err := f.Acquire(limited(t), late)
			requireHeld(t, err, driver.Reserved)
		}
		r.Waiting = true
		mustAcquire(t, writer, r)
	})
}
