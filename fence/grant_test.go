package fence_test

import (
	"context"
	"database/sql"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// counter is a pgx tracer that counts statements.
type counter struct{ atomic.Int32 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.Add(1)
	return ctx
}

func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// beside is a backend and a guard that share one database handle of Postgres. The field sent counts the handle's
// statements.
type beside struct {
	backend *sqllock.Backend
	guard   *fence.Guard
	check   func(ctx context.Context, lease *rowlock.Lease) error
	sent    *counter
}

// eachHandle runs the function test with pgx, and in a TestCompat with database/sql. The handle reaches the database
// through the proxy.
func eachHandle(t *testing.T, test func(t *testing.T, s *store, b beside, proxy *faultproxy.Proxy)) {
	t.Helper()
	t.Parallel()
	onFurtherHandles(t)
	for name, open := range map[string]func(*testing.T, *pgxpool.Config) beside{
		"database/sql": func(t *testing.T, config *pgxpool.Config) beside {
			db := stdlib.OpenDB(*config.ConnConfig)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			guard := fence.Postgres(db)
			return beside{backend: sqllock.Postgres(db), guard: guard, check: func(ctx context.Context, _ *rowlock.Lease) error {
				return guard.Tx(ctx, func(context.Context, *sql.Tx) error { return nil })
			}}
		},
		"pgx": func(t *testing.T, config *pgxpool.Config) beside {
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			guard := fence.Pgx(pool)
			return beside{backend: sqllock.Pgx(pool), guard: guard, check: func(ctx context.Context, _ *rowlock.Lease) error {
				return guard.TxPgx(ctx, func(context.Context, pgx.Tx) error { return nil })
			}}
		},
	} {
		if (name == "database/sql") != further(t) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := postgres.fresh(t)
			u, err := url.Parse(s.dsn)
			require.NoError(t, err)
			proxy, err := faultproxy.New(u.Host)
			require.NoError(t, err)
			t.Cleanup(proxy.Close)
			u.Host = proxy.Addr()
			config, err := pgxpool.ParseConfig(u.String())
			require.NoError(t, err)
			sent := &counter{}
			config.ConnConfig.Tracer = sent
			b := open(t, config)
			b.sent = sent
			test(t, s, b, proxy)
		})
	}
}

// If a backend and a guard share a handle, one statement acquires and seals. It leaves the same mark as Seal. For a name
// without a row there are two statements before it: one is refused, and one inserts the row.
func TestOneStatementAcquiresAndSeals(t *testing.T) {
	eachHandle(t, func(t *testing.T, s *store, b beside, _ *faultproxy.Proxy) {
		locker := lockerOn(t, b.backend, rowlock.Fenced(b.guard))
		mark := func() (row string) {
			require.NoError(t, s.db.QueryRowContext(t.Context(),
				"SELECT to_jsonb(f) - 'sealed_at' FROM rowlock_lease_fence f WHERE resource = 'r'").Scan(&row))
			return row
		}
		first, err := locker.Acquire(t.Context(), "the first statement also detects the server type")
		require.NoError(t, err)
		require.NoError(t, first.Release(t.Context()))
		for _, statements := range []int{3, 1, 1} {
			b.sent.Store(0)
			lease, err := locker.Acquire(t.Context(), "r")
			require.NoError(t, err)
			assert.EqualValues(t, statements, b.sent.Load())
			granted := mark()
			require.NoError(t, b.check(lease.Context(), lease))
			require.NoError(t, b.guard.Seal(t.Context(), lease), "the mark already belongs to the lease")
			s.exec(t, "DELETE FROM rowlock_lease_fence WHERE resource = 'r'")
			require.NoError(t, b.guard.Seal(t.Context(), lease))
			assert.Equal(t, mark(), granted)
			require.NoError(t, lease.Release(t.Context()))
		}
	})
}

// If the reply to a grant that seals is lost, Acquire retries, and returns that grant and its seal.
func TestALostReplyOfASealedGrant(t *testing.T) {
	eachHandle(t, func(t *testing.T, s *store, b beside, proxy *faultproxy.Proxy) {
		locker := lockerOn(t, b.backend, rowlock.Fenced(b.guard))
		for range 2 { // in the second run the driver has already prepared the statements
			lease, err := locker.Acquire(t.Context(), "r")
			require.NoError(t, err)
			require.NoError(t, lease.Release(t.Context()))
		}
		proxy.DropReplies(1, faultproxy.Reset)
		b.sent.Store(0)
		lease, err := locker.Acquire(t.Context(), "r")
		require.NoError(t, err)
		assert.EqualValues(t, 2, b.sent.Load(), "one more, and no seal")
		assert.EqualValues(t, lease.Token(), s.int(t, "SELECT token FROM rowlock_lease_fence"))
		require.NoError(t, b.check(lease.Context(), lease))
	})
}

// If the mark has a larger token or belongs to another lock, a fenced acquire fails with the same error as Seal.
// The lock is free afterwards.
func TestAGrantThatCannotSealIsReleased(t *testing.T) {
	eachHandle(t, func(t *testing.T, s *store, b beside, _ *faultproxy.Proxy) {
		locker := lockerOn(t, b.backend)
		for change, want := range map[string]error{
			"SET token = 9000000000000000000":       fence.ErrStale,
			"SET token = 1, domain = 'store other'": fence.ErrOtherDomain,
		} {
			s.exec(t, "DELETE FROM rowlock_lease_fence")
			lease, err := locker.Acquire(t.Context(), "r", rowlock.Fenced(b.guard))
			require.NoError(t, err)
			require.NoError(t, lease.Release(t.Context()))
			s.exec(t, "UPDATE rowlock_lease_fence "+change)
			_, err = locker.Acquire(t.Context(), "r", rowlock.Fenced(b.guard))
			require.ErrorIs(t, err, want)
			free, err := locker.TryAcquire(t.Context(), "r")
			require.NoError(t, err, "the name is free")
			require.NoError(t, free.Release(t.Context()))
		}
	})
}

// If a transaction of an older holder does not end, a fenced acquire returns an ErrHeld that says so,
// after a limited wait. It leaves no lock and no changed mark. A waiter acquires the name when the transaction ends.
func TestAFencedAcquireBehindAnOpenTransaction(t *testing.T) {
	eachHandle(t, func(t *testing.T, s *store, b beside, _ *faultproxy.Proxy) {
		locker := lockerOn(t, b.backend, rowlock.Fenced(b.guard), rowlock.TTL(30*time.Second))
		old, err := locker.Acquire(t.Context(), "r")
		require.NoError(t, err)
		tx := s.begin(t, sql.LevelDefault)
		require.NoError(t, s.guard.Check(old.Context(), tx))
		require.NoError(t, old.Release(t.Context()))
		_, err = locker.TryAcquire(t.Context(), "r")
		var held *rowlock.HeldError
		require.ErrorAs(t, err, &held)
		assert.Equal(t, driver.Draining, held.Reason)
		assert.EqualValues(t, old.Token(), s.int(t, "SELECT token FROM rowlock_lease_fence"))
		free, err := lockerOn(t, b.backend).TryAcquire(t.Context(), "r")
		require.NoError(t, err, "nothing is left behind")
		require.NoError(t, free.Release(t.Context()))

		done := make(chan error, 1)
		go func() {
			lease, err := locker.Acquire(t.Context(), "r")
			if err == nil {
				err = b.check(lease.Context(), lease)
			}
			done <- err
		}()
		acquiring := s.untilDoneOrWaiting(t, done)
		require.True(t, acquiring.waits)
		require.NoError(t, s.append(t.Context(), tx, old))
		require.NoError(t, tx.Commit())
		require.NoError(t, acquiring.wait())
	})
}

// seals is a guard that counts the calls of Seal.
type seals struct {
	*fence.Guard

	n int
}

func (s *seals) Seal(ctx context.Context, lease *rowlock.Lease, resources ...string) error {
	s.n++
	return s.Guard.Seal(ctx, lease, resources...)
}

// A grant seals only for a guard with the backend's handle and table. With any other Sealer, also one that embeds such
// a guard, Acquire calls Seal after the grant. The token domain is the guard's in all cases.
func TestWhoseMarksAGrantSeals(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	require.NoError(t, migrations.Up(t.Context(), s.db, migrations.Postgres, migrations.Table("another")))
	locker := lockerOn(t, sqllock.Postgres(s.db))
	marks := func(table string) int64 {
		return s.int(t, "SELECT count(*) FROM "+table+"_fence WHERE domain = 'here r'")
	}
	of := func(guard rowlock.Sealer) {
		t.Helper()
		for range 2 {
			lease, err := locker.Acquire(t.Context(), "r", rowlock.Fenced(guard))
			require.NoError(t, err)
			require.NoError(t, lease.Release(t.Context()))
		}
	}
	here := fence.TokenDomain("here")
	of(fence.Postgres(s.db, here))
	assert.EqualValues(t, 1, marks("rowlock_lease"))
	of(fence.Postgres(s.open(t, s.dsn), here))
	of(fence.Postgres(s.db, here, fence.Table("another")))
	assert.EqualValues(t, 1, marks("another"))
	counted := &seals{Guard: fence.Postgres(s.db, here)}
	of(counted)
	assert.Equal(t, 2, counted.n)

	elsewhere := postgres.fresh(t)
	of(fence.Postgres(elsewhere.db, here))
	assert.EqualValues(t, 1, elsewhere.int(t, "SELECT count(*) FROM rowlock_lease_fence"))
}

// A fenced acquire works through a pooler in which the sessions and prepared statements of different clients mix.
func TestCompatAFencedAcquireThroughAPooler(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	clients, direct := testenv.PgBouncer(t)
	s := &store{engine: postgres, dsn: direct}
	s.db = s.open(t, direct)
	require.NoError(t, migrations.Up(t.Context(), s.db, migrations.Postgres))
	db := s.open(t, clients)
	lease, err := lockerOn(t, sqllock.Postgres(db)).Acquire(t.Context(), "r", rowlock.Fenced(fence.Postgres(db)))
	require.NoError(t, err)
	assert.EqualValues(t, lease.Token(), s.int(t, "SELECT token FROM rowlock_lease_fence"))
}
