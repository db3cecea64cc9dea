package fence_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// Without a lease in the context, Check returns an error. If the lease has ended, Check returns an error without a
// request to the database.
func TestCheckNeedsALiveLease(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		tx := s.begin(t, sql.LevelDefault)
		require.ErrorIs(t, s.guard.Check(t.Context(), tx), fence.ErrNoLease)
		lease := s.lease(t, "r")
		require.NoError(t, lease.Release(t.Context()))
		err := s.guard.Check(context.WithoutCancel(lease.Context()), tx)
		require.ErrorIs(t, err, rowlock.ErrReleased)
		require.NotErrorIs(t, err, fence.ErrStale)
	})
}

// Check returns an error if its argument is not an open transaction. Otherwise the lock on the mark would be released
// too early.
func TestCheckNeedsATransaction(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		lease := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		conn, err := s.db.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		for name, tx := range map[string]fence.Transaction{"nil": nil, "nil tx": (*sql.Tx)(nil), "nil conn": (*sql.Conn)(nil), "pool": s.db, "conn": conn} {
			require.ErrorContains(t, s.guard.Check(lease.Context(), tx), "no transaction is open", name)
		}
		_, err = conn.ExecContext(t.Context(), "BEGIN")
		require.NoError(t, err)
		require.NoError(t, s.guard.Check(lease.Context(), conn))
		newer := s.lease(t, "r")
		seal := s.startSeal(t, newer)
		assert.True(t, seal.waits, "the transaction has locked the mark")
		_, err = conn.ExecContext(t.Context(), "COMMIT")
		require.NoError(t, err)
		require.NoError(t, seal.wait())

		ended := s.begin(t, sql.LevelDefault)
		require.NoError(t, ended.Commit())
		require.ErrorIs(t, s.guard.Check(newer.Context(), ended), sql.ErrTxDone)
	})
}

// An open fenced transaction does not block the renewal of its own lease in the same database. A SQLite file has one
// writer at a time, so on SQLite the locks need another file.
func TestAnOpenTransactionDoesNotDelayItsOwnRenewal(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		var backend driver.Backend
		switch s.dialect {
		case migrations.Postgres:
			backend = sqllock.Postgres(s.db)
		case migrations.MySQL:
			backend = sqllock.MySQL(s.db)
		default:
			path := url.URL{Path: filepath.Join(t.TempDir(), "locks.db")}
			locks := s.open(t, "file:"+path.EscapedPath()+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
			require.NoError(t, migrations.Up(t.Context(), locks, s.dialect))
			backend = sqllock.SQLite(locks)
		}
		locker, err := rowlock.New(backend, rowlock.TTL(time.Minute))
		require.NoError(t, err)
		defer func() { require.NoError(t, locker.Close()) }()
		require.NoError(t, locker.Do(t.Context(), "r", func(ctx context.Context, lease *rowlock.Lease) error {
			require.NoError(t, s.guard.Seal(ctx, lease))
			return s.guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
				require.NoError(t, s.append(ctx, tx, lease))
				began := time.Now()
				require.NoError(t, lease.Renew(ctx))
				assert.Less(t, time.Since(began), 30*time.Second)
				return nil
			})
		}))
	})
}

// A holder may have several checked transactions open at the same time, and may check repeatedly in each.
func TestTransactionsOfOneHolderDoNotExcludeEachOther(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		if s.dialect == migrations.SQLite {
			return // a SQLite file has one writer at a time
		}
		lease := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		one, other := s.begin(t, sql.LevelDefault), s.begin(t, sql.LevelDefault)
		for range 2 {
			require.NoError(t, s.guard.Check(lease.Context(), one))
			require.NoError(t, s.guard.Check(lease.Context(), other))
		}
		require.NoError(t, one.Commit())
		require.NoError(t, other.Commit())
	})
}

// On Postgres the server ends a checked transaction that idles for longer than its lease was trusted at the check.
// So a suspended process cannot block its successor. A shorter limit of the caller stays in force,
// and the session's setting is unchanged after the transaction.
func TestPostgresBoundsAnIdleTransaction(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	s.db.SetMaxOpenConns(2)
	const setting = "SELECT (1000 * extract(epoch FROM current_setting('idle_in_transaction_session_timeout')::interval))::bigint"
	limit := func(tx *sql.Tx) (ms int64) {
		t.Helper()
		require.NoError(t, tx.QueryRowContext(t.Context(), setting).Scan(&ms))
		return ms
	}
	lease := leaseFrom(t, s.locks, "r", rowlock.TTL(time.Minute))
	require.NoError(t, s.guard.Seal(t.Context(), lease))
	for before, want := range map[string]int64{"0": 54_000, "7s": 7_000, "1h": 54_000, "800ms": 800} {
		tx := s.begin(t, sql.LevelDefault)
		_, err := tx.ExecContext(t.Context(), "SET LOCAL idle_in_transaction_session_timeout = '"+before+"'")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(lease.Context(), 5*time.Second) // this ctx limits only the call of Check
		require.NoError(t, s.guard.Check(ctx, tx))
		cancel()
		assert.InDelta(t, want, limit(tx), float64(want)/5, before)
		require.NoError(t, tx.Rollback())
		assert.Zero(t, s.int(t, setting))
	}

	brief := leaseFrom(t, s.locks, "r", rowlock.TTL(6*time.Second))
	require.NoError(t, s.guard.Seal(t.Context(), brief))
	tx := s.begin(t, sql.LevelDefault)
	require.NoError(t, s.guard.Check(brief.Context(), tx))
	newer := s.lease(t, "r")
	require.NoError(t, s.guard.Seal(t.Context(), newer), "the server has ended the other session")
	require.Error(t, tx.Commit())
}

// A guard on a pgx pool seals, checks and rejects a stale holder.
func TestPgx(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	pool, err := pgxpool.New(t.Context(), s.dsn)
	require.NoError(t, err)
	defer pool.Close()
	guard := fence.Pgx(pool)
	old := s.lease(t, "r")
	require.NoError(t, guard.Seal(t.Context(), old))
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, guard.CheckPgx(old.Context(), tx))
	newer := s.lease(t, "r")
	done := make(chan error, 1)
	go func() { done <- guard.Seal(t.Context(), newer) }()
	seal := s.untilDoneOrWaiting(t, done)
	require.True(t, seal.waits)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, seal.wait())
	tx, err = pool.Begin(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, guard.CheckPgx(old.Context(), tx), fence.ErrStale)
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, guard.Check(newer.Context(), s.begin(t, sql.LevelDefault)), "it is the same table")

	require.ErrorContains(t, guard.CheckPgx(newer.Context(), nil), "no transaction is open")
	require.ErrorContains(t, fence.MySQL(s.db).CheckPgx(newer.Context(), tx), "needs a guard for Postgres")
	require.ErrorContains(t, guard.Tx(newer.Context(), nil), "use TxPgx")
	require.ErrorContains(t, s.guard.TxPgx(newer.Context(), nil), "use Tx")
}

// Seal and Check work through PgBouncer in transaction mode, and leave no changed setting in a session that other
// clients use later.
func TestCompatPgBouncer(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	pooled, direct := testenv.PgBouncer(t)
	s := &store{engine: postgres, locks: memlock.New()}
	s.db = s.open(t, direct)
	require.NoError(t, migrations.Up(t.Context(), s.db, s.dialect))
	through := s.open(t, pooled+"&default_query_exec_mode=exec")
	through.SetMaxOpenConns(1)
	guard := fence.Postgres(through)
	lease := s.lease(t, "r")
	require.NoError(t, guard.Seal(t.Context(), lease))
	require.NoError(t, guard.Tx(lease.Context(), func(context.Context, *sql.Tx) error { return nil }))
	for _, setting := range []string{"lock_timeout", "idle_in_transaction_session_timeout"} {
		var now string
		require.NoError(t, through.QueryRowContext(t.Context(), "SELECT current_setting('"+setting+"')").Scan(&now))
		assert.Equal(t, "0", now, setting)
	}
}
