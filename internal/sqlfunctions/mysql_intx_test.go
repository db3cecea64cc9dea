package sqlfunctions_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/sqllock"
)

const notFree = 50456

// session returns a connection that the test ends.
func session(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func callBegin(ctx context.Context, q querier, name string, wait float64) error {
	_, err := q.ExecContext(ctx, "CALL rowlock_lease_begin(?, ?, NULL)", name, wait)
	return err
}

// lockTimeout returns the session's innodb_lock_wait_timeout, in seconds.
func lockTimeout(t *testing.T, q rowQuerier) (n int) {
	t.Helper()
	require.NoError(t, row(t.Context(), q, "SELECT @@innodb_lock_wait_timeout", nil, &n))
	return n
}

// begin begins a transaction that holds the lock until it ends, whether or not the lock has a row, and at every isolation
// level. Until then no lease is granted, to nobody, and no other transaction gets the lock, neither by SQL nor by InTx.
func TestBeginHoldsTheLockUntilTheTransactionEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		locker := mysqlLocker(t, db)
		execMySQL(t, db, "CREATE TABLE report (n INT)")
		for _, level := range []string{"READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"} {
			for _, end := range []string{"COMMIT", "ROLLBACK"} {
				conn := session(t, db)
				_, err := conn.ExecContext(t.Context(), "SET SESSION TRANSACTION ISOLATION LEVEL "+level)
				require.NoError(t, err)
				before := lockTimeout(t, conn)
				require.NoError(t, callBegin(t.Context(), conn, "nightly "+level, 0))
				assert.Equal(t, before, lockTimeout(t, conn))
				_, err = conn.ExecContext(t.Context(), "INSERT INTO report VALUES (1)")
				require.NoError(t, err)
				assert.EqualValues(t, 50453, sqlerror.MySQL(callBegin(t.Context(), conn, "nightly "+level, 0)), "inside a transaction")
				_, err = locker.TryAcquire(t.Context(), "nightly "+level)
				require.ErrorIs(t, err, rowlock.ErrHeld)
				assert.Equal(t, "contended", mustTry(t, db, "nightly "+level).verdict)
				assert.EqualValues(t, notFree, sqlerror.MySQL(callBegin(t.Context(), db, "nightly "+level, 0)))
				tx, err := db.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				require.ErrorContains(t, sqllock.MySQL(db).InTx(t.Context(), tx, "nightly "+level), "locked by another transaction")
				require.NoError(t, tx.Rollback())
				_, err = conn.ExecContext(t.Context(), end)
				require.NoError(t, err)
				lease, err := locker.TryAcquire(t.Context(), "nightly "+level)
				require.NoError(t, err)
				require.NoError(t, lease.Release(t.Context()))
				require.NoError(t, conn.Close())
			}
		}
		assert.Equal(t, 4, count(t, db, "SELECT COUNT(*) FROM report"), "the committed transactions have written")
	})
}

// While the lock is held, begin is refused at every isolation level, and leaves no transaction open. So the holder can
// renew its lease, and the session goes on as it was before.
func TestARefusedBeginLeavesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		locker := mysqlLocker(t, db, rowlock.Holder("a Go process"))
		reader, err := locker.TryAcquire(t.Context(), "read", rowlock.Shared())
		require.NoError(t, err)
		_, err = locker.Pause(t.Context(), "paused", "maintenance")
		require.NoError(t, err)
		lease, err := locker.TryAcquire(t.Context(), "nightly")
		require.NoError(t, err)
		conn := session(t, db)
		for _, level := range []string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"} {
			_, err = conn.ExecContext(t.Context(), "SET SESSION TRANSACTION ISOLATION LEVEL "+level)
			require.NoError(t, err)
			before := lockTimeout(t, conn)
			for _, name := range []string{"read", "paused", "nightly"} {
				err := callBegin(t.Context(), conn, name, 0)
				assert.EqualValues(t, notFree, sqlerror.MySQL(err), "%s: %v", name, err)
				require.ErrorContains(t, err, "leased")
			}
			assert.Equal(t, before, lockTimeout(t, conn))
			require.NoError(t, lease.Renew(t.Context()))
			require.NoError(t, reader.Renew(t.Context()))
			_, err = conn.ExecContext(t.Context(), "CALL rowlock_lease_do_outside()")
			require.NoError(t, err, "no transaction is open")
		}
	})
}

// begin inside a transaction of the caller fails, and does not end that transaction.
func TestBeginInsideATransactionFails(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		execMySQL(t, db, "CREATE TABLE report (n INT)")
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "INSERT INTO report VALUES (1)")
		require.NoError(t, err)
		assert.EqualValues(t, 50453, sqlerror.MySQL(callBegin(t.Context(), tx, "nightly", 0)))
		require.NoError(t, tx.Rollback())
		assert.Zero(t, count(t, db, "SELECT COUNT(*) FROM report"))
		assert.Equal(t, "granted", mustTry(t, db, "nightly").verdict)
	})
}

// begin waits for the lock, and not longer than the caller says.
func TestBeginWaits(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, dsn string) {
		a := mustTry(t, db, "nightly")
		began := time.Now()
		assert.EqualValues(t, notFree, sqlerror.MySQL(callBegin(t.Context(), db, "nightly", 0.2)))
		assert.GreaterOrEqual(t, time.Since(began), 200*time.Millisecond)
		conn := session(t, db)
		done := make(chan error, 1)
		go func() { done <- callBegin(context.Background(), conn, "nightly", 60) }()
		require.True(t, within(time.Minute, func() bool {
			return slices.ContainsFunc(testenv.Sessions(t, db), func(s testenv.Session) bool {
				return s.Database == mysqlConfig(t, dsn).DBName && s.State == "User sleep"
			})
		}), "it waits")
		mustRelease(t, db, "nightly", a)
		require.NoError(t, <-done)
		_, err := mysqlLocker(t, db).TryAcquire(t.Context(), "nightly")
		require.ErrorIs(t, err, rowlock.ErrHeld)
		_, err = conn.ExecContext(t.Context(), "COMMIT")
		require.NoError(t, err)
	})
}

// The next transaction sees what the last one has committed, because begin takes no snapshot: the transaction even sees
// what another session commits after begin. Workers that read a number with a plain read and write the number plus one
// lose no update, together with Go processes.
func TestBeginTakesTheLockBeforeTheSnapshot(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		execMySQL(t, db, "CREATE TABLE counter (n INT)")
		first := session(t, db)
		require.NoError(t, callBegin(t.Context(), first, "counter", 0))
		execMySQL(t, db, "INSERT INTO counter VALUES (0)")
		assert.Equal(t, 1, count(t, first, "SELECT COUNT(*) FROM counter"))
		_, err := first.ExecContext(t.Context(), "COMMIT")
		require.NoError(t, err)
		const each, workers = 8, 4
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		add := func(q querier) error {
			var n int
			if err := q.QueryRowContext(ctx, "SELECT n FROM counter").Scan(&n); err != nil {
				return err
			}
			_, err := q.ExecContext(ctx, "UPDATE counter SET n = ?", n+1)
			return err
		}
		done := make(chan error, workers)
		for i := range workers {
			locker, conn := mysqlLocker(t, db), session(t, db)
			go func() {
				var err error
				for n := 0; n < each && err == nil; n++ {
					if i == 0 {
						err = locker.Do(ctx, "counter", func(ctx context.Context, _ *rowlock.Lease) error { return add(db) })
						continue
					}
					if err = callBegin(ctx, conn, "counter", 300); err == nil {
						err = add(conn)
					}
					if err == nil {
						_, err = conn.ExecContext(ctx, "COMMIT")
					}
				}
				done <- err
			}()
		}
		for range workers {
			require.NoError(t, <-done)
		}
		assert.Equal(t, each*workers, count(t, db, "SELECT n FROM counter"))
	})
}

// After a change of the server, each procedure that acquires a lock first begins the quarantine, and then is refused
// until it is over.
func TestTheProceduresBeginTheQuarantineOfANewServer(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		for name, call := range map[string]func() error{
			"begin": func() error {
				conn := session(t, db)
				defer conn.ExecContext(t.Context(), "ROLLBACK") //nolint:errcheck // the transaction has written nothing
				return callBegin(t.Context(), conn, "nightly", 0)
			},
			"acquire": func() error {
				_, err := callAcquire(t.Context(), db, "weekly", 0)
				return err
			},
		} {
			execMySQL(t, db, "UPDATE rowlock_lease_meta SET epoch = 'another server', quarantined_until = '1970-01-01'")
			err := call()
			assert.EqualValues(t, notFree, sqlerror.MySQL(err), name)
			require.ErrorContains(t, err, "quarantine", name)
			assert.Equal(t, 1, count(t, db, "SELECT COUNT(*) FROM rowlock_lease_meta WHERE epoch <> 'another server' AND quarantined_until > UTC_TIMESTAMP(6) + INTERVAL 30 SECOND"), name)
			_, err = mysqlLocker(t, db).TryAcquire(t.Context(), "nightly")
			require.ErrorIs(t, err, rowlock.ErrHeld, name)
			execMySQL(t, db, "UPDATE rowlock_lease_meta SET quarantined_until = '1970-01-01'")
			require.NoError(t, call(), name)
		}
	})
}
