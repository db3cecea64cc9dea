package sqlfunctions_test

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/sqllock"
)

// mysqlLocker returns a Locker of package sqllock for the same database, closed when the test ends.
func mysqlLocker(t *testing.T, db *sql.DB, opts ...rowlock.Option) *rowlock.Locker {
	t.Helper()
	locker, err := rowlock.New(sqllock.MySQL(db), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, locker.Close()) })
	return locker
}

func execMySQL(t *testing.T, db *sql.DB, script string, args ...any) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), script, args...)
	require.NoError(t, err, script)
}

// callTry makes one attempt to acquire a lock. waiter is nil, or the id with which the caller polls.
func callTry(ctx context.Context, q rowQuerier, name string, ttl float64, waiter any) (a answer, err error) {
	err = row(ctx, q, `SET @nonce = NULL; CALL rowlock_lease_try_acquire(?, ?, NULL, 'a test', NULL, ?, @nonce, @verdict, @token, @held_by, @free_in, @ahead);
		SELECT @nonce, @verdict, @token, COALESCE(@held_by, '')`, []any{name, ttl, waiter}, a.dest()...)
	return a, err
}

func mustTry(t *testing.T, q rowQuerier, name string) answer {
	t.Helper()
	a, err := callTry(t.Context(), q, name, 60, nil)
	require.NoError(t, err)
	return a
}

// callAcquire waits for the lock "ledger" or another one, for at most wait seconds.
func callAcquire(ctx context.Context, q rowQuerier, name string, wait float64) (a answer, err error) {
	err = row(ctx, q, "SET @nonce = UUID(); CALL rowlock_lease_acquire(?, ?, 60, NULL, NULL, NULL, @nonce, @token); SELECT @nonce, @token",
		[]any{name, wait}, &a.nonce, &a.token)
	return a, err
}

func callRelease(ctx context.Context, q rowQuerier, name string, a answer) (released bool, err error) {
	err = row(ctx, q, "CALL rowlock_lease_release(?, ?, ?, NULL, @released); SELECT @released", []any{name, a.nonce, a.token}, &released)
	return released, err
}

func mustRelease(t *testing.T, q rowQuerier, name string, a answer) {
	t.Helper()
	released, err := callRelease(t.Context(), q, name, a)
	require.NoError(t, err)
	require.True(t, released)
}

// A Go process and a session of MySQL or MariaDB exclude each other, and tokens rise from one to the other.
func TestGoAndProceduresExcludeEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		locker := mysqlLocker(t, db, rowlock.Holder("the Go process"))
		var last int64
		rises := func(token int64) {
			t.Helper()
			assert.Greater(t, token, last)
			last = token
		}
		for range 3 {
			lease, err := locker.TryAcquire(t.Context(), "nightly")
			require.NoError(t, err)
			rises(int64(lease.Token()))
			a := mustTry(t, db, "nightly")
			assert.Equal(t, "leased", a.verdict)
			assert.Equal(t, "the Go process", a.heldBy)
			require.NoError(t, lease.Release(t.Context()))

			a = mustTry(t, db, "nightly")
			require.Equal(t, "granted", a.verdict)
			rises(a.token)
			_, err = locker.TryAcquire(t.Context(), "nightly")
			require.ErrorIs(t, err, rowlock.ErrHeld)
			require.ErrorContains(t, err, "in session")
			mustRelease(t, db, "nightly", a)
		}
	})
}

// Workers in Go and in SQL increase a number that only the lock protects. None loses an update of another, and their
// tokens rise.
func TestGoAndProcedureWorkersTakeTurns(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		execMySQL(t, db, "CREATE TABLE ledger (n INT PRIMARY KEY, token BIGINT NOT NULL)")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		const each = 10
		// Two statements, so that two workers at once would insert the same number.
		add := func(token int64) error {
			var n int
			if err := db.QueryRowContext(ctx, "SELECT COALESCE(MAX(n), 0) FROM ledger").Scan(&n); err != nil {
				return err
			}
			_, err := db.ExecContext(ctx, "INSERT INTO ledger VALUES (?, ?)", n+1, token)
			return err
		}
		done := make(chan error, 4)
		for range 2 {
			locker := mysqlLocker(t, db)
			go func() {
				var err error
				for i := 0; i < each && err == nil; i++ {
					err = locker.Do(ctx, "ledger", func(_ context.Context, lease *rowlock.Lease) error { return add(int64(lease.Token())) })
				}
				done <- err
			}()
			go func() {
				var err error
				for i := 0; i < each && err == nil; i++ {
					var a answer
					if a, err = callAcquire(ctx, db, "ledger", 60); err == nil {
						err = add(a.token)
					}
					if err == nil {
						_, err = callRelease(ctx, db, "ledger", a)
					}
				}
				done <- err
			}()
		}
		for range 4 {
			require.NoError(t, <-done)
		}
		assert.Equal(t, 4*each, count(t, db, "SELECT COUNT(*) FROM ledger"))
		assert.Zero(t, count(t, db, "SELECT COUNT(*) FROM ledger a JOIN ledger b ON b.n = a.n + 1 WHERE b.token <= a.token"), "tokens rise")
	})
}

// A session gets no lock that readers hold, that an operator has paused, or that a transaction has locked. In the last
// case try_acquire does not wait for that transaction, and afterwards the session's lock time-out is unchanged.
func TestProceduresRespectReadersPausesAndTransactions(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		locker := mysqlLocker(t, db)
		reader, err := locker.TryAcquire(t.Context(), "read", rowlock.Shared())
		require.NoError(t, err)
		assert.Equal(t, "leased", mustTry(t, db, "read").verdict)
		assert.Equal(t, 1, count(t, db, "SELECT readers FROM rowlock_lease_locks WHERE name = 'read' AND state = 'held'"))
		require.NoError(t, reader.Release(t.Context()))
		assert.Equal(t, "granted", mustTry(t, db, "read").verdict)

		_, err = locker.Pause(t.Context(), "paused", "maintenance")
		require.NoError(t, err)
		assert.Equal(t, "paused", mustTry(t, db, "paused").verdict)
		assert.Equal(t, 1, count(t, db, "SELECT COUNT(*) FROM rowlock_lease_locks WHERE name = 'paused' AND state = 'paused'"))

		for _, name := range []string{"in tx, without a row", "in tx"} {
			if name == "in tx" {
				mustRelease(t, db, name, mustTry(t, db, name))
			}
			tx, err := db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			require.NoError(t, sqllock.MySQL(db).InTx(t.Context(), tx, name))
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			assert.Equal(t, "contended", mustTry(t, conn, name).verdict, name)
			var timeout int
			require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT @@innodb_lock_wait_timeout").Scan(&timeout))
			assert.Greater(t, timeout, 1)
			require.NoError(t, conn.Close())
			require.NoError(t, tx.Commit())
			assert.Equal(t, "granted", mustTry(t, db, name).verdict, name)
		}
	})
}

// A second call with the nonce of a grant returns the same grant. A renewal revives no lease that has ended. A release
// with another nonce ends nothing, and a release with token 0 ends any grant of its nonce.
func TestProceduresCompareTheNonce(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		a := mustTry(t, db, "nightly")
		var again answer
		require.NoError(t, row(t.Context(), db, `SET @nonce = ?; CALL rowlock_lease_try_acquire('nightly', 60, NULL, NULL, NULL, NULL, @nonce, @verdict, @token, @held_by, @free_in, @ahead);
			SELECT @nonce, @verdict, @token, COALESCE(@held_by, '')`, []any{strings.ToUpper(a.nonce)}, again.dest()...))
		assert.Equal(t, a, again)
		renew := func(a answer) (renewed bool) {
			t.Helper()
			require.NoError(t, row(t.Context(), db, "CALL rowlock_lease_renew('nightly', ?, ?, 90, NULL, @renewed); SELECT @renewed", []any{a.nonce, a.token}, &renewed))
			return renewed
		}
		assert.True(t, renew(a))
		assert.Equal(t, 1, count(t, db, "SELECT COUNT(*) FROM rowlock_lease_meta WHERE longest_ttl_us = 90000000"), "the longest TTL is recorded")
		other := answer{nonce: driver.NewNonce().String(), token: a.token}
		assert.False(t, renew(other))
		released, err := callRelease(t.Context(), db, "nightly", other)
		require.NoError(t, err)
		assert.False(t, released)
		assert.False(t, renew(answer{nonce: a.nonce, token: a.token + 1}))
		execMySQL(t, db, "UPDATE rowlock_lease SET expires_at = UTC_TIMESTAMP(6), held_until = UTC_TIMESTAMP(6)")
		assert.False(t, renew(a), "the lease has ended")
		b := mustTry(t, db, "nightly")
		require.Equal(t, "granted", b.verdict)
		released, err = callRelease(t.Context(), db, "nightly", a)
		require.NoError(t, err)
		assert.False(t, released, "another holder has acquired the lock")
		mustRelease(t, db, "nightly", answer{nonce: b.nonce})
		assert.Equal(t, 1, count(t, db, "SELECT COUNT(*) FROM rowlock_lease_locks WHERE state = 'free' AND holder IS NULL AND since IS NULL"))
	})
}

// A grant counts when it is committed, so the procedures of leases fail inside a transaction and without autocommit,
// and change nothing.
func TestProceduresOfLeasesFailInsideATransaction(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		a := mustTry(t, db, "held")
		for _, begin := range []string{"START TRANSACTION", "SET autocommit = 0"} {
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			for _, call := range []string{
				"rowlock_lease_try_acquire('nightly', 60, NULL, NULL, NULL, NULL, @nonce, @verdict, @token, @held_by, @free_in, @ahead)",
				"rowlock_lease_acquire('nightly', 1, 60, NULL, NULL, NULL, @nonce, @token)",
				"rowlock_lease_renew('held', '" + a.nonce + "', 1, 60, NULL, @renewed)",
				"rowlock_lease_release('held', '" + a.nonce + "', 0, NULL, @released)",
				"rowlock_lease_leave('held', UUID(), NULL)",
				"rowlock_lease_seal('held', 1, '" + a.nonce + "', NULL, NULL)",
			} {
				_, err = conn.ExecContext(t.Context(), begin+"; CALL "+call)
				assert.EqualValues(t, 50453, sqlerror.MySQL(err), "%s: %s: %v", begin, call, err)
			}
			_, err = conn.ExecContext(t.Context(), "COMMIT; SET autocommit = 1")
			require.NoError(t, err)
			require.NoError(t, conn.Close())
		}
		assert.Equal(t, 1, count(t, db, "SELECT COUNT(*) FROM rowlock_lease"))
		assert.Zero(t, count(t, db, "SELECT COUNT(*) FROM rowlock_lease_fence"))
		mustRelease(t, db, "held", a)
	})
}

// Wrong parameters are refused with 22023, and names have the limits of package rowlock: bytes, not characters.
func TestParametersOfProceduresAreChecked(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		const results = ", @nonce, @verdict, @token, @held_by, @free_in, @ahead)"
		for _, call := range []string{
			"rowlock_lease_try_acquire('', 60, NULL, NULL, NULL, NULL" + results, "rowlock_lease_try_acquire(NULL, 60, NULL, NULL, NULL, NULL" + results,
			"rowlock_lease_try_acquire('a', NULL, NULL, NULL, NULL, NULL" + results, "rowlock_lease_try_acquire('a', 0.049, NULL, NULL, NULL, NULL" + results,
			"rowlock_lease_try_acquire('a', 604801, NULL, NULL, NULL, NULL" + results, "rowlock_lease_try_acquire(REPEAT('ä', 257), 60, NULL, NULL, NULL, NULL" + results,
			"rowlock_lease_try_acquire('a', 60, NULL, NULL, REPEAT('a', 129), NULL" + results,
			"rowlock_lease_renew('a', UUID(), 1, -1, NULL, @renewed)",
			"rowlock_lease_seal('', 1, UUID(), NULL, NULL)", "rowlock_lease_seal('a', 0, UUID(), NULL, NULL)", "rowlock_lease_seal('a', 1, NULL, NULL, NULL)",
		} {
			_, err := db.ExecContext(t.Context(), "CALL "+call)
			require.Error(t, err, call)
			assert.Contains(t, err.Error(), "(22023)", call)
		}
		assert.Equal(t, "granted", mustTry(t, db, strings.Repeat("ä", 256)).verdict)
		for _, name := range []string{"a", "A", "a "} {
			assert.Equal(t, "granted", mustTry(t, db, name).verdict, "%q is a name of its own", name)
		}
	})
}

// A procedure waits until the lock is free, and not longer than the caller says. Afterwards it is no waiter any more.
func TestTheProcedureAcquireWaitsAndIsBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		lease, err := mysqlLocker(t, db).TryAcquire(t.Context(), "nightly")
		require.NoError(t, err)
		for _, wait := range []float64{0, 0.3} {
			began := time.Now()
			_, err := callAcquire(t.Context(), db, "nightly", wait)
			assert.EqualValues(t, 50456, sqlerror.MySQL(err), "%v", err)
			assert.GreaterOrEqual(t, time.Since(began).Seconds(), wait)
			assert.Zero(t, count(t, db, "SELECT COUNT(*) FROM rowlock_lease WHERE waiters IS NOT NULL"))
		}
		type result struct {
			a   answer
			err error
		}
		got := make(chan result, 1)
		go func() {
			a, err := callAcquire(context.Background(), db, "nightly", 60)
			got <- result{a, err}
		}()
		require.True(t, within(time.Minute, func() bool { return count(t, db, "SELECT waiters FROM rowlock_lease_locks") == 1 }), "it waits")
		require.NoError(t, lease.Release(t.Context()))
		r := <-got
		require.NoError(t, r.err)
		assert.Greater(t, r.a.token, int64(lease.Token()))
		assert.Zero(t, count(t, db, "SELECT COUNT(*) FROM rowlock_lease WHERE waiters IS NOT NULL"))
		mustRelease(t, db, "nightly", r.a)
	})
}

// A release by a procedure reserves the lock for a waiting Go process, and a release by a Go process for a session that
// waits. Nobody else gets the lock before.
func TestReleasesReserveTheLockAcrossProceduresAndGo(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		locker := mysqlLocker(t, db)
		lease, err := locker.TryAcquire(t.Context(), "nightly")
		require.NoError(t, err)
		waiter := driver.NewNonce().String()
		a, err := callTry(t.Context(), db, "nightly", 60, waiter)
		require.NoError(t, err)
		require.Equal(t, "leased", a.verdict)
		require.NoError(t, lease.Release(t.Context()))
		execMySQL(t, db, "UPDATE rowlock_lease SET held_until = held_until + INTERVAL 1 MINUTE") // the reservation lasts until the test has looked
		_, err = locker.TryAcquire(t.Context(), "nightly")
		require.ErrorIs(t, err, rowlock.ErrHeld)
		assert.Equal(t, "reserved", mustTry(t, db, "nightly").verdict)
		a, err = callTry(t.Context(), db, "nightly", 60, waiter)
		require.NoError(t, err)
		require.Equal(t, "granted", a.verdict)

		got := make(chan error, 1)
		go func() {
			lease, err := locker.Acquire(context.Background(), "nightly")
			if err == nil {
				err = lease.Release(context.Background())
			}
			got <- err
		}()
		require.True(t, within(time.Minute, func() bool { return count(t, db, "SELECT waiters FROM rowlock_lease_locks") == 1 }), "it waits")
		execMySQL(t, db, "UPDATE rowlock_lease SET next_until = UTC_TIMESTAMP(6) + INTERVAL 1 MINUTE") // the process waits, even if this test is slow
		mustRelease(t, db, "nightly", a)
		require.NoError(t, <-got)
	})
}

// A release by a procedure wakes the Go process for which it reserves the lock. No poll does so, because the test sends
// no other request.
func TestAReleaseByAProcedureWakesAGoWaiter(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		a := mustTry(t, db, "nightly")
		waiter := sqllock.MySQL(db)
		r := driver.Request{Key: driver.Key{Name: "nightly"}, Nonce: driver.NewNonce(), TTL: time.Minute, Waiting: true}
		woken := make(chan struct{}, 1)
		stop, err := waiter.Notify(t.Context(), r.Key, func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		})
		require.NoError(t, err)
		t.Cleanup(func() { // before the database is closed
			stop()
			waiter.CloseIdle(context.Background())
		})
		_, err = waiter.Acquire(t.Context(), r)
		require.ErrorAs(t, err, new(*driver.Held))
		const ear = "SELECT COALESCE(MAX(IS_USED_LOCK(CONCAT('rowlock-ear ', SUBSTRING(waiters, 25, 12)))), 0) FROM rowlock_lease"
		asleep := regexp.MustCompile("SELECT.*(SLEEP|GTID_WAIT)")
		require.True(t, within(time.Minute, func() bool {
			id := int64(count(t, db, ear))
			return slices.ContainsFunc(testenv.Sessions(t, db), func(s testenv.Session) bool {
				return s.ID == id && s.Command == "Execute" && asleep.MatchString(s.Statement)
			})
		}), "it sleeps until it is woken")
		execMySQL(t, db, "UPDATE rowlock_lease SET next_until = UTC_TIMESTAMP(6) + INTERVAL 1 MINUTE") // the process waits, even if this test is slow
		for len(woken) > 0 {
			<-woken
		}
		mustRelease(t, db, "nightly", a)
		select {
		case <-woken:
		case <-time.After(20 * time.Second):
			require.Fail(t, "the process was not woken")
		}
	})
}
