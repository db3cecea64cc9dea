package sqlfunctions_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
)

// Jobs of pg_cron and a Go process exclude each other: while the process holds the lock, one job fails and another waits.
// While that job runs, the process is refused. pg_cron starts jobs once a minute, so this test waits for a full minute.
func TestCompatAJobOfPgCronTakesTheLockOfAGoProcess(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	server, err := testserver.Start(t.Context(), testserver.Postgres, testserver.Options{Cron: true, Logf: t.Logf})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, func() error { server.Stop(); return nil }()) })
	db := open(t, server.DSN)
	locker := goLocker(t, db)
	exec(t, db, `CREATE EXTENSION pg_cron;
		CREATE TABLE report (at timestamptz NOT NULL);
		CREATE TABLE may_end (n int)`)

	lease, err := locker.TryAcquire(t.Context(), "nightly", rowlock.Holder("a Go process"))
	require.NoError(t, err)
	exec(t, db, `SELECT cron.schedule('impatient', '* * * * *', $job$ SELECT rowlock_lease_lock_in_tx('nightly') $job$)`)
	// The advisory lock shows the test that the job has the lock. The job holds it until the test has inserted a row into
	// may_end.
	exec(t, db, `SELECT cron.schedule('report', '* * * * *', $job$
		SELECT rowlock_lease_lock_in_tx('nightly', wait => '50 s');
		INSERT INTO report VALUES (clock_timestamp());
		SELECT pg_advisory_xact_lock(4711);
		DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM may_end) LOOP PERFORM pg_sleep(0.05); END LOOP; END $$
		$job$)`)
	var message string
	require.True(t, within(2*time.Minute, func() bool {
		return db.QueryRowContext(t.Context(), "SELECT return_message FROM cron.job_run_details WHERE status = 'failed'").Scan(&message) == nil
	}), "a job ran and failed")
	assert.Contains(t, message, `lock "nightly" in the transaction: the lock is not free (leased)`)
	assert.False(t, working(t, db))

	require.NoError(t, lease.Release(t.Context()))
	require.True(t, within(2*time.Minute, func() bool { return working(t, db) }), "the job that waits gets the lock")
	_, err = locker.TryAcquire(t.Context(), "nightly")
	require.ErrorIs(t, err, rowlock.ErrHeld)
	exec(t, db, "INSERT INTO may_end VALUES (1)")
	lease, err = locker.Acquire(t.Context(), "nightly", rowlock.Wait(time.Minute))
	require.NoError(t, err)
	assert.Equal(t, 1, count(t, db, "SELECT count(*) FROM report"), "the job has committed before the process got the lock")
	require.NoError(t, lease.Release(t.Context()))
}

// working reports whether a job has the lock.
func working(t *testing.T, db *sql.DB) bool {
	t.Helper()
	return count(t, db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711") > 0
}

// within calls done until it returns true, and reports whether it did so within the limit.
func within(limit time.Duration, done func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if done() {
			return true
		}
	}
	return false
}
