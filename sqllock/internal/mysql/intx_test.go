package mysql

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// At every isolation level, InTx excludes leases and other transactions until its transaction ends, whether or not the
// lock had a row before. After a refusal, the caller can continue its transaction.
func TestMySQLInTxExcludes(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		for _, level := range isolations {
			db := f.open(t, f.strict(level))
			b := on(db)
			for _, known := range []bool{false, true} {
				holder, other := begin(t, db), begin(t, db)
				require.NoError(t, inTx(limited(t), b, holder, "a"+level), "%s, known %t", level, known)
				require.NoError(t, inTx(limited(t), b, holder, "a"+level), "again in the same transaction")
				atOnce(t, func() {
					requireHeld(t, inTx(limited(t), b, other, "a"+level), driver.Contended)
					_, err := b.Acquire(limited(t), request("a"+level))
					requireHeld(t, err, driver.Contended)
				})
				require.NoError(t, inTx(limited(t), b, other, "b"+level), "the transaction goes on")
				require.NoError(t, holder.Commit())
				require.NoError(t, inTx(limited(t), b, other, "a"+level))
				require.NoError(t, other.Rollback())
			}
			require.NoError(t, b.Release(limited(t), mustAcquire(t, b, request("a"+level))))
		}
	})
}

// If the transaction's snapshot is older than the last change of the lock, InTx still locks or refuses, at every
// isolation level. What the transaction has written stays.
func TestMySQLInTxInAnOldSnapshot(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		f.Exec(t, "CREATE TABLE written (level VARCHAR(20))")
		for _, level := range isolations {
			db := f.open(t, f.strict(level))
			b := on(db)
			old := begin(t, db)
			_, err := old.ExecContext(limited(t), "INSERT INTO written VALUES (?)", level)
			require.NoError(t, err)
			var rows int
			require.NoError(t, old.QueryRowContext(limited(t), "SELECT COUNT(*) FROM written").Scan(&rows)) // fixes the snapshot
			g := mustAcquire(t, f, request("b"+level))
			requireHeld(t, inTx(limited(t), b, old, "b"+level), driver.Leased)
			require.NoError(t, f.Release(limited(t), g))
			require.NoError(t, inTx(limited(t), b, old, "b"+level), level)
			_, err = f.Acquire(limited(t), request("b"+level))
			requireHeld(t, err, driver.Contended)
			require.NoError(t, old.Commit())
			assert.Positive(t, f.int(t, "SELECT COUNT(*) FROM written WHERE level = '"+level+"'"))
		}
	})
}

// While a lease is held, InTx is refused and does not lock the lease's row. So the lease can be renewed while the
// refused transaction is open, even if the transaction's snapshot is older than the lease.
func TestMySQLInTxLeavesALiveLeaseAlone(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		for _, level := range isolations[1:3] {
			db := f.open(t, f.isolation(level))
			b := on(db)
			old := begin(t, db)
			_, err := old.ExecContext(limited(t), "SELECT COUNT(*) FROM rowlock_lease")
			require.NoError(t, err)
			g := mustAcquire(t, b, request("a"+level))
			for range 3 {
				held := requireHeld(t, inTx(limited(t), b, old, "a"+level), driver.Leased)
				assert.Equal(t, "host:1", held.Holder)
			}
			atOnce(t, func() {
				got, err := b.Renew(limited(t), []driver.Grant{g})
				require.NoError(t, err)
				assert.Equal(t, []driver.Outcome{driver.Renewed}, got)
			})
			require.NoError(t, b.Release(limited(t), g))
			require.NoError(t, inTx(limited(t), b, old, "a"+level))
			require.NoError(t, old.Rollback())
		}
	})
}

// The next holder sees what the last holder committed, because InTx takes the lock before the snapshot.
func TestMySQLInTxIsTakenBeforeTheSnapshot(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		f.Exec(t, "CREATE TABLE counter (n INT)")
		f.Exec(t, "INSERT INTO counter VALUES (0)")
		const workers, steps = 4, 10
		errs := make(chan error, workers)
		db := f.open(t, f.strict("REPEATABLE-READ"))
		for range workers {
			go func() { errs <- count(t, db, steps) }()
		}
		for range workers {
			require.NoError(t, <-errs)
		}
		assert.EqualValues(t, workers*steps, f.int(t, "SELECT n FROM counter"))
	})
}

// count runs several transactions. Each acquires the lock, reads a number with a plain read, and writes the number
// plus one.
func count(t *testing.T, db *sql.DB, steps int) error {
	ctx, cancel := contextFor(2 * time.Minute) // each transaction waits for those of the other workers
	defer cancel()
	b := on(db)
	for range steps {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		var n int
		if err = inTx(ctx, b, tx, "counter", time.Minute); err == nil {
			err = tx.QueryRowContext(ctx, "SELECT n FROM counter").Scan(&n)
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, "UPDATE counter SET n = ?", n+1)
		}
		if err != nil {
			_ = tx.Rollback()
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// If the pool is limited to one connection, InTx fails with an error that says so. If the pool has no free
// connection, InTx fails within a bounded time. In both cases the transaction can continue.
func TestMySQLInTxNeedsASecondConnection(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		for connections, permanent := range map[int]bool{1: true, 2: false} {
			db := f.open(t, nil)
			db.SetMaxOpenConns(connections)
			b := on(db)
			txs := make([]*sql.Tx, connections)
			for i := range txs {
				txs[i] = begin(t, db)
			}
			start := time.Now()
			err := inTx(limited(t), b, txs[0], "a")
			require.Error(t, err)
			assert.True(t, driver.IsNotApplied(err))
			assert.Equal(t, permanent, driver.IsPermanent(err), "%v", err)
			assert.Less(t, time.Since(start), 3*besideLimit)
			for _, tx := range txs {
				_, err = tx.ExecContext(limited(t), "SELECT 1")
				require.NoError(t, err)
				require.NoError(t, tx.Rollback())
			}
		}
	})
}
