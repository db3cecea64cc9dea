package compat_test

import (
	"context"
	"database/sql"
	"net/url"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/migrations"
)

// With lib/pq, package advisory keeps the driver contract for session locks, even if clients die, are cut off,
// or lose replies.
func TestConformanceOfAdvisoryWithPQ(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	locktest.Run(t, func(tb testing.TB) locktest.Harness { return newNetwork(tb) })
}

// lib/pq does not expose its socket, so a holder detects the end of its session only at the next heartbeat. The same locker can then
// acquire the lock again, with a larger token.
func TestLossWithPQ(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	dsn := database(t)
	direct := open(t, "pgx", dsn)
	locker, err := rowlock.New(advisory.NewDB(open(t, "postgres", dsn)), rowlock.TTL(time.Minute), rowlock.RenewEvery(50*time.Millisecond))
	require.NoError(t, err)
	defer locker.Close() //nolint:errcheck // released below
	first, err := locker.Acquire(t.Context(), "a")
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, terminate(t.Context(), direct, advisory.Key("", "a")))
	select {
	case <-first.Context().Done():
	case <-time.After(20 * time.Second):
		require.Fail(t, "the lease is still trusted, long after a heartbeat")
	}
	t.Logf("loss reported after %s", time.Since(began).Round(time.Millisecond))
	require.ErrorIs(t, first.Release(t.Context()), rowlock.ErrLost)
	second, err := locker.Acquire(t.Context(), "a")
	require.NoError(t, err)
	assert.Greater(t, second.Token(), first.Token())
	require.NoError(t, second.Release(t.Context()))
}

// If the state of a lib/pq session is unknown, the backend closes the session and does not return it to the pool. So no
// lock stays held by accident. The test cancels Acquire at many different moments, and releases the lock if it was
// granted.
func TestDoubtWithPQ(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	dsn := database(t)
	direct, db := open(t, "pgx", dsn), open(t, "postgres", dsn)
	db.SetMaxOpenConns(2)
	b := advisory.NewDB(db)
	for i := range 50 {
		r := driver.Request{Key: driver.Key{Name: "a"}, Nonce: driver.NewNonce(), TTL: time.Minute}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*40*time.Microsecond) // the timeout may end the call at any statement
		if g, err := b.Acquire(ctx, r); err == nil {
			_ = b.Release(ctx, g)
		}
		cancel()
		err := b.Release(t.Context(), driver.Grant{Key: r.Key, Nonce: r.Nonce})
		require.True(t, err == nil || err == driver.ErrNotHeld, "%v", err)
	}
	require.Eventually(t, func() bool { return db.Stats().InUse == 0 && locks(t, direct) == 0 }, 20*time.Second, 5*time.Millisecond)
}

// If the server stops answering, lib/pq does not end a statement when its context ends.
// Calls of rowlock still return in time, the holder stops trusting its lease within the TTL,
// and the locker can be closed. The hanging statements end when their connection is closed.
func TestSilenceWithPQ(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	direct := database(t)
	u, err := url.Parse(direct)
	require.NoError(t, err)
	proxy, err := faultproxy.New(u.Host)
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	u.Host = proxy.Addr()
	db := open(t, "postgres", u.String()+"&connect_timeout=1")
	const brief = time.Second
	locker, err := rowlock.New(advisory.NewDB(db), rowlock.TTL(brief))
	require.NoError(t, err)
	lease, err := locker.Acquire(t.Context(), "a")
	require.NoError(t, err)
	began := time.Now()
	proxy.Cut()
	_, err = locker.TryAcquire(t.Context(), "b")
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	select {
	case <-lease.Context().Done():
	case <-time.After(20 * time.Second):
		require.Fail(t, "the lease is still trusted, long after its TTL")
	}
	require.ErrorIs(t, lease.Err(), rowlock.ErrLost)
	closed := make(chan error, 1)
	go func() { closed <- locker.Close() }()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		require.Fail(t, "the locker is not closed")
	}
	t.Logf("closed %s after the cut", time.Since(began).Round(time.Millisecond))
	assert.Equal(t, 1, locks(t, open(t, "pgx", direct)), "the server knows nothing of it")
	proxy.Reset()
	proxy.Restore()
	require.Eventually(t, func() bool { return db.Stats().InUse == 0 }, 20*time.Second, 5*time.Millisecond)
	require.Eventually(t, func() bool { return locks(t, open(t, "pgx", direct)) == 0 }, 20*time.Second, 5*time.Millisecond)
}

// With lib/pq, the backend refuses to lock behind a PgBouncer in transaction mode, of an old or a new version,
// and leaves no lock held. The lock of InTx, which lasts for one transaction, works.
func TestTransactionPoolingWithPQ(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	for pooler, fresh := range map[string]func(testing.TB) (pooled, direct string){
		"pgbouncer": testenv.PgBouncer, "pgbouncer_new": testenv.NewPgBouncer,
	} {
		t.Run(pooler, func(t *testing.T) {
			t.Parallel()
			pooled, direct := fresh(t)
			migrate(t, direct)
			db := open(t, "postgres", pooled+"&binary_parameters=yes") // without binary_parameters, lib/pq prepares a statement on one server process and executes it on another
			_, err := advisory.NewDB(db).Acquire(t.Context(), driver.Request{Key: driver.Key{Name: "a"}, Nonce: driver.NewNonce(), TTL: time.Minute})
			var found *advisory.PoolerError
			require.ErrorAs(t, err, &found)
			require.ErrorContains(t, err, "use sqllock")
			assert.True(t, driver.IsPermanent(err))
			assert.Zero(t, locks(t, open(t, "pgx", direct)))

			var held *driver.Held
			first, second := begin(t, db), begin(t, db)
			require.NoError(t, advisory.InTx(t.Context(), first, "a"))
			require.ErrorAs(t, advisory.InTx(t.Context(), second, "a"), &held)
			require.NoError(t, first.Commit())
			require.NoError(t, advisory.InTx(t.Context(), second, "a"))
			require.NoError(t, second.Commit())
		})
	}
}

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// database creates a database with the sequence of tokens, and returns its DSN.
func database(tb testing.TB) string {
	tb.Helper()
	dsn := testenv.Postgres(tb)
	migrate(tb, dsn)
	return dsn
}

func migrate(tb testing.TB, dsn string) {
	tb.Helper()
	require.NoError(tb, migrations.Up(context.Background(), open(tb, "pgx", dsn), migrations.Postgres))
}

func open(tb testing.TB, driverName, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open(driverName, dsn)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

const here = " FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"

// locks returns how many advisory locks the server holds, as another session sees them.
func locks(tb testing.TB, db *sql.DB) (n int) {
	tb.Helper()
	require.NoError(tb, db.QueryRow("SELECT count(*)"+here).Scan(&n))
	return n
}

// terminate ends the session that holds key, and returns after the server has ended the session.
func terminate(ctx context.Context, db *sql.DB, key int64) error {
	const holders = here + " AND (classid::bigint << 32) | objid::bigint = $1"
	if _, err := db.ExecContext(ctx, "SELECT pg_terminate_backend(pid)"+holders, key); err != nil {
		return err
	}
	for {
		left := 0
		if err := db.QueryRowContext(ctx, "SELECT count(*)"+holders, key).Scan(&left); err != nil || left == 0 {
			return err
		}
		time.Sleep(time.Millisecond) // polls, because there is no event to wait for
	}
}
