package sqlfunctions_test

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/sqllock"
)

// goLocker returns a Locker of package sqllock for the same database, closed when the test ends.
func goLocker(t *testing.T, db *sql.DB, opts ...rowlock.Option) *rowlock.Locker {
	t.Helper()
	locker, err := rowlock.New(sqllock.Postgres(db), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, locker.Close()) })
	return locker
}

// exec runs a script of one or more statements.
func exec(t *testing.T, db *sql.DB, script string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), script, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err, script)
}

func count(t *testing.T, db querier, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), query, args...).Scan(&n), query)
	return n
}

// answer is a row of try_acquire or acquire.
type answer struct {
	nonce, verdict, heldBy string
	token                  int64
}

func (a *answer) dest() []any { return []any{&a.nonce, &a.verdict, &a.token, &a.heldBy} }

// querier is a *sql.DB, *sql.Conn or *sql.Tx.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func tryAcquire(t *testing.T, q querier, name, ttl string) (a answer) {
	t.Helper()
	const query = "SELECT nonce, verdict, token, coalesce(held_by, '') FROM rowlock_lease_try_acquire($1, $2::interval)"
	require.NoError(t, q.QueryRowContext(t.Context(), query, name, ttl).Scan(a.dest()...))
	return a
}

func release(t *testing.T, q querier, name string, a answer) (released bool) {
	t.Helper()
	require.NoError(t, q.QueryRowContext(t.Context(), "SELECT rowlock_lease_release($1, $2, $3)", name, a.nonce, a.token).Scan(&released))
	return released
}

// Each function with the prefix do_ runs a statement of package sqllock or fence, without a change.
func TestTheFunctionsRunTheStatementsOfTheBackends(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	table, err := sqltable.Parse(sqltable.Default)
	require.NoError(t, err)
	locks := table.Statements(os.DirFS("../../sqllock/internal/postgres"), "sql", `"`)
	marks := table.Statements(os.DirFS("../../fence"), "sql/postgres", `"`)
	want := map[string]string{
		"do_acquire": locks["acquire"], "do_adopt": locks["adopt_epoch"], "do_ttl": locks["raise_longest_ttl"],
		"do_reserve": locks["reserve_for_writer"], "do_forget": locks["forget_writer"], "do_wait": locks["wait"], "do_leave": locks["leave"], "do_renew": locks["renew"],
		"do_release": locks["release"], "do_released": locks["released_before"], "do_lock": locks["lock_in_tx"], "do_create": locks["create_in_tx"],
		"do_read": marks["read"], "do_raise": marks["raise"], "do_check": marks["check"],
	}
	rows, err := db.QueryContext(t.Context(), `SELECT proname, prosrc FROM pg_proc WHERE proname LIKE 'rowlock\_lease\_do\_%' AND proname NOT IN ('rowlock_lease_do_us', 'rowlock_lease_do_why')`)
	require.NoError(t, err)
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var name, body string
		require.NoError(t, rows.Scan(&name, &body))
		assert.Equal(t, want[strings.TrimPrefix(name, "rowlock_lease_")], strings.TrimSpace(body), "%s: write the changed statement into a new migration of the functions", name)
	}
	require.NoError(t, rows.Err())
	assert.Equal(t, len(want), n)
}

// A Go process and a SQL session exclude each other, and tokens rise from one to the other.
func TestGoAndSQLExcludeEachOther(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	locker := goLocker(t, db, rowlock.Holder("the Go process"))
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
		a := tryAcquire(t, db, "nightly", "1 min")
		assert.Equal(t, "leased", a.verdict)
		assert.Equal(t, "the Go process", a.heldBy)
		require.NoError(t, lease.Release(t.Context()))

		a = tryAcquire(t, db, "nightly", "1 min")
		require.Equal(t, "granted", a.verdict)
		rises(a.token)
		_, err = locker.TryAcquire(t.Context(), "nightly")
		require.ErrorIs(t, err, rowlock.ErrHeld)
		require.ErrorContains(t, err, "in session")
		require.True(t, release(t, db, "nightly", a))
	}
}

// A SQL session gets no lock that readers hold, that an operator has paused, or that a transaction has locked.
func TestSQLRespectsReadersPausesAndTransactions(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	locker := goLocker(t, db)
	reader, err := locker.TryAcquire(t.Context(), "read", rowlock.Shared())
	require.NoError(t, err)
	assert.Equal(t, "leased", tryAcquire(t, db, "read", "1 min").verdict)
	assert.Equal(t, 1, count(t, db, "SELECT readers FROM rowlock_lease_locks WHERE name = 'read' AND state = 'held'"))
	require.NoError(t, reader.Release(t.Context()))
	assert.Equal(t, "granted", tryAcquire(t, db, "read", "1 min").verdict)

	_, err = locker.Pause(t.Context(), "paused", "upgrade")
	require.NoError(t, err)
	assert.Equal(t, "paused", tryAcquire(t, db, "paused", "1 min").verdict)
	_, err = db.ExecContext(t.Context(), "SELECT rowlock_lease_lock_in_tx('paused')")
	require.ErrorContains(t, err, "not free (paused)")
	assert.Equal(t, 1, count(t, db, "SELECT count(*) FROM rowlock_lease_locks WHERE name = 'paused' AND state = 'paused' AND until = 'infinity'"))

	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	require.NoError(t, sqllock.Postgres(db).InTx(t.Context(), tx, "tx"))
	assert.Equal(t, "contended", tryAcquire(t, db, "tx", "1 min").verdict)
	_, err = db.ExecContext(t.Context(), "SELECT rowlock_lease_lock_in_tx('tx')")
	assert.Equal(t, "55P03", sqlerror.State(err))
	require.NoError(t, tx.Commit())
	_, err = db.ExecContext(t.Context(), "SELECT rowlock_lease_lock_in_tx('tx')")
	require.NoError(t, err)
}

// The longest TTL of all grants determines how long a quarantine must last. A renewal by SQL raises it, too.
func TestTheLongestTTLIsRecorded(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	longest := func() int { return count(t, db, "SELECT longest_ttl_us FROM rowlock_lease_meta") }
	a := tryAcquire(t, db, "nightly", "2 min")
	assert.EqualValues(t, (2 * time.Minute).Microseconds(), longest())
	exec(t, db, "SELECT rowlock_lease_renew('nightly', '"+a.nonce+"', "+driver.Token(a.token).String()+", '3 min')")
	assert.EqualValues(t, (3 * time.Minute).Microseconds(), longest())
}

// A grant and a renewal are durable even in a session whose commits are not. All other settings of the caller's
// transaction stay as they were.
func TestGrantsAreDurableAndSettingsStay(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	a := tryAcquire(t, db, "held", "1 min")
	free := tryAcquire(t, db, "free", "1 min")
	for statement, want := range map[string]string{
		"SELECT rowlock_lease_try_acquire('nightly', '1 min')":                                                   "on",
		"SELECT rowlock_lease_renew('held', '" + a.nonce + "', " + driver.Token(a.token).String() + ", '1 min')": "on",
		"SELECT rowlock_lease_try_acquire('held', '1 min', waiter => rowlock_lease_nonce())":                     "off",
		"SELECT rowlock_lease_release('free', '" + free.nonce + "', " + driver.Token(free.token).String() + ")":  "off",
	} {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		exec := func(s string) {
			_, err := tx.ExecContext(t.Context(), s)
			require.NoError(t, err, s)
		}
		exec("SET LOCAL synchronous_commit = off")
		exec("SET LOCAL lock_timeout = '7s'")
		exec(statement)
		var durable, timeout, path string
		require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT current_setting('synchronous_commit'), current_setting('lock_timeout'), current_setting('search_path')").Scan(&durable, &timeout, &path))
		assert.Equal(t, []string{want, "7s", `"$user", public`}, []string{durable, timeout, path}, statement)
		require.NoError(t, tx.Commit())
	}
	exec(t, db, "SET synchronous_commit = on")
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	held := tryAcquire(t, tx, "own", "1 min")
	require.True(t, release(t, tx, "own", held))
	var durable string
	require.NoError(t, tx.QueryRowContext(t.Context(), "SHOW synchronous_commit").Scan(&durable))
	assert.Equal(t, "on", durable, "a release does not make the caller's commit less durable")
}

// At every isolation level the functions of leases work, or fail with 40001 because the transaction must be repeated.
// A transaction with an old snapshot never gets a lock that has been granted since.
func TestIsolationLevels(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
		name := level.String()
		first := tryAcquire(t, db, name, "1 min")
		require.True(t, release(t, db, name, first))
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "SELECT FROM rowlock_lease") // takes the snapshot
		require.NoError(t, err)
		second := tryAcquire(t, db, name, "1 min")
		require.Equal(t, "granted", second.verdict)
		var verdict string
		err = tx.QueryRowContext(t.Context(), "SELECT verdict FROM rowlock_lease_try_acquire($1, '1 min')", name).Scan(&verdict)
		if level == sql.LevelReadCommitted {
			require.NoError(t, err)
			assert.Equal(t, "leased", verdict)
		} else {
			assert.Equal(t, "40001", sqlerror.State(err), "%s: %v %s", name, err, verdict)
		}
		require.NoError(t, tx.Rollback())

		tx, err = db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
		require.NoError(t, err)
		assert.Equal(t, "granted", tryAcquire(t, tx, name+" again", "1 min").verdict, "a fresh snapshot works")
		assert.True(t, release(t, tx, name, second))
		require.NoError(t, tx.Commit())

		tx, err = db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "SELECT rowlock_lease_lock_in_tx('in tx')")
		if level == sql.LevelReadCommitted {
			require.NoError(t, err)
		} else {
			assert.Equal(t, "25000", sqlerror.State(err))
		}
		require.NoError(t, tx.Rollback())
	}
}

// Wrong parameters are refused with 22023, and names have the limits of package rowlock: bytes, not characters.
func TestParametersAreChecked(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	for _, call := range []string{
		"rowlock_lease_try_acquire('', '1 min')", "rowlock_lease_try_acquire(NULL, '1 min')", "rowlock_lease_try_acquire('a', NULL)",
		"rowlock_lease_try_acquire('a', '49 ms')", "rowlock_lease_try_acquire('a', '8 days')", "rowlock_lease_try_acquire(repeat('ä', 257), '1 min')",
		"rowlock_lease_try_acquire('a', '1 min', namespace => repeat('a', 129))", "rowlock_lease_try_acquire('a', '1 min', namespace => NULL)",
		"rowlock_lease_renew('a', rowlock_lease_nonce(), 1, '-1 s')", "rowlock_lease_lock_in_tx('')",
		"rowlock_lease_seal('', 1, rowlock_lease_nonce())", "rowlock_lease_seal('a', 0, rowlock_lease_nonce())", "rowlock_lease_seal('a', 1, NULL)",
	} {
		_, err := db.ExecContext(t.Context(), "SELECT "+call)
		assert.Equal(t, "22023", sqlerror.State(err), "%s: %v", call, err)
	}
	assert.Equal(t, "granted", tryAcquire(t, db, strings.Repeat("ä", 256), "7 days").verdict)
}

// The view shows the state of each lock, and hides the holder of a lock that nobody holds.
func TestTheViewShowsEachState(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	exec(t, db, `SELECT rowlock_lease_try_acquire('held', '1 min', 'me', 'why'), rowlock_lease_try_acquire('expired', '50 ms'),
		rowlock_lease_try_acquire('closed', '1 min'), rowlock_lease_try_acquire('free', '1 min')`)
	exec(t, db, `SELECT rowlock_lease_release(name, nonce, token) FROM rowlock_lease WHERE name IN ('closed', 'free');
		UPDATE rowlock_lease SET held_until = clock_timestamp() + interval '1 min' WHERE name = 'closed';
		UPDATE rowlock_lease SET expires_at = clock_timestamp() - interval '1 s', held_until = clock_timestamp() - interval '1 s' WHERE name = 'expired'`)
	for name, holder := range map[string]bool{"held": true, "expired": true, "closed": false, "free": false} {
		var state string
		var shown bool
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT state, holder IS NOT NULL AND since IS NOT NULL FROM rowlock_lease_locks WHERE name = $1", name).Scan(&state, &shown))
		assert.Equal(t, name, state)
		assert.Equal(t, holder, shown, name)
	}
	assert.Equal(t, 1, count(t, db, `SELECT count(*) FROM rowlock_lease_locks WHERE name = 'held' AND holder = 'me' AND note = 'why'
		AND until - since BETWEEN interval '59 s' AND interval '61 s'`))
}

// Workers in Go and in SQL increase a number that only the lock protects. None loses an update of another, and their
// tokens rise.
func TestGoAndSQLWorkersTakeTurns(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	exec(t, db, "CREATE TABLE ledger (n int PRIMARY KEY, token bigint NOT NULL)")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const each = 15
	// Two statements, so that two workers at once would insert the same number.
	add := func(token int64) error {
		var n int
		if err := db.QueryRowContext(ctx, "SELECT coalesce(max(n), 0) FROM ledger").Scan(&n); err != nil {
			return err
		}
		_, err := db.ExecContext(ctx, "INSERT INTO ledger VALUES ($1, $2)", n+1, token)
		return err
	}
	done := make(chan error, 4)
	for range 2 {
		locker := goLocker(t, db)
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
				var freeIn, heldBy sql.NullString
				err = db.QueryRowContext(ctx, "CALL rowlock_lease_acquire('ledger', '5 min', '1 min')").Scan(&a.nonce, &a.verdict, &a.token, &heldBy, &freeIn)
				if err == nil {
					err = add(a.token)
				}
				if err == nil {
					_, err = db.ExecContext(ctx, "SELECT rowlock_lease_release('ledger', $1, $2)", a.nonce, a.token)
				}
			}
			done <- err
		}()
	}
	for range 4 {
		require.NoError(t, <-done)
	}
	assert.Equal(t, 4*each, count(t, db, "SELECT count(*) FROM ledger"))
	assert.Zero(t, count(t, db, "SELECT count(*) FROM ledger a JOIN ledger b ON b.n = a.n + 1 WHERE b.token <= a.token"), "tokens rise")
}
