package advisory_test

import (
	"context"
	"database/sql"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/otherdriver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
)

// A backend behind a PgBouncer in transaction mode, of an old or a new version, refuses the first call.
// It does so with every driver, and even with SessionPooler. The error says what to do,
// and no lock stays on a connection of the pool.
func TestCompatTransactionPoolingIsRefused(t *testing.T) {
	t.Parallel()
	for pooler, database := range map[string]func(testing.TB) (pooled, direct string){
		"pgbouncer": testenv.PgBouncer, "pgbouncer_new": testenv.NewPgBouncer,
	} {
		t.Run(pooler, func(t *testing.T) {
			testenv.Compat(t)
			t.Parallel()
			pooled, direct := database(t)
			migrate(t, direct)
			w := watch(t, direct)
			hidden := func(opts ...advisory.Option) *advisory.Backend {
				b, closePool, err := openSQL(otherdriver.Name)(pooled+"&default_query_exec_mode=exec", opts...)
				require.NoError(t, err)
				t.Cleanup(closePool)
				return b
			}
			for name, b := range map[string]*advisory.Backend{
				"pgx":                              advisory.New(openPool(t, pooled)),
				"pgx, declared as session mode":    advisory.New(openPool(t, pooled), advisory.SessionPooler()),
				"pgx, no token":                    advisory.New(openPool(t, pooled), advisory.NoToken()),
				"stdlib":                           advisory.NewDB(openDB(t, pooled)),
				"stdlib, declared as session mode": advisory.NewDB(openDB(t, pooled), advisory.SessionPooler()),
				"another":                          hidden(),
				"another driver, no token":         hidden(advisory.NoToken()),
			} {
				t.Run(name, func(t *testing.T) {
					unfit(t, b, "transaction mode", "directly", "sqllock")
					_, err := b.Acquire(t.Context(), request("a"))
					var pooler *advisory.PoolerError
					require.ErrorAs(t, err, &pooler)
				})
			}
			assert.Zero(t, w.locks())
		})
	}
}

// A backend with SessionPooler works if two connections never share a server process.
// The test uses direct connections, for which this is always true.
func TestSessionPoolerIsProbed(t *testing.T) {
	eachPool(t, func(t *testing.T, open func(string, ...advisory.Option) *advisory.Backend) {
		dsn := database(t)
		b, w := open(dsn, advisory.SessionPooler()), watch(t, dsn)
		acquire(t, b, "a")
		assert.Equal(t, 1, w.locks())
		refused(t, open(dsn), "a")
	})
}

// A backend refuses to lock on a standby and in a read-only session, with a permanent error.
// A standby would grant locks that the primary has granted, and a read-only session cannot make tokens.
func TestReadOnlyIsRefused(t *testing.T) {
	eachPool(t, func(t *testing.T, open func(string, ...advisory.Option) *advisory.Backend) {
		dsn := database(t) + "&default_transaction_read_only=on"
		unfit(t, open(dsn), "read-only")
		unfit(t, open(dsn, advisory.NoToken()), "read-only")
	})
}

// If the sequence is missing, or the role may not use it, the error says how to create it or how
// to grant the privilege. With NoToken no schema is needed.
func TestSequenceIsMissing(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	unfit(t, advisory.New(openPool(t, dsn)), "rowlock_lease_token", "rowlock migrate up", "NoToken")
	var schema *advisory.SchemaError
	_, err := advisory.New(openPool(t, dsn), advisory.Table("ops.jobs")).Acquire(t.Context(), request("a"))
	require.ErrorAs(t, err, &schema)
	assert.Equal(t, "ops.jobs_token", schema.Sequence)

	b := advisory.New(openPool(t, dsn), advisory.NoToken())
	assert.Zero(t, acquire(t, b, "a").Token)
	lease, err := locker(t, b).Acquire(t.Context(), "b")
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))
	_, err = rowlock.New(b, rowlock.Require(rowlock.LinearizableToken))
	require.Error(t, err)
}

// A role without the right to use the sequence gets an error that says so, before anything is locked.
func TestPrivilegeIsMissing(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	w := watch(t, dsn)
	role := "rowlock_" + driver.NewNonce().String()[:8]
	for _, statement := range []string{"CREATE ROLE " + role + " LOGIN", "GRANT USAGE ON SCHEMA public TO " + role} {
		_, err := w.db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		_, _ = w.db.ExecContext(context.Background(), "DROP OWNED BY "+role)
		_, err := w.db.ExecContext(context.Background(), "DROP ROLE "+role)
		require.NoError(t, err)
	})
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	u.User = url.User(role)
	b := advisory.New(openPool(t, u.String()))
	unfit(t, b, "GRANT USAGE ON SEQUENCE rowlock_lease_token")
	_, err = w.db.ExecContext(t.Context(), "GRANT USAGE ON SEQUENCE rowlock_lease_token TO "+role)
	require.NoError(t, err)
	g, err := b.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	require.NoError(t, b.Release(t.Context(), g))
}

// The option Table also determines the name and the schema of the token sequence.
func TestTableNamesTheSequence(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	db := openDB(t, dsn)
	_, err := db.ExecContext(t.Context(), `CREATE SCHEMA "Ops"`)
	require.NoError(t, err)
	require.NoError(t, migrations.Up(t.Context(), db, migrations.Postgres, migrations.Table("Ops.Jobs")))
	acquire(t, advisory.New(openPool(t, dsn), advisory.Table("Ops.Jobs")), "a")
}

// Invalid options are reported when a locker is made.
func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	pool := openPool(t, "postgres://localhost/nowhere", conns(3))
	db, err := sql.Open("pgx", "postgres://localhost/nowhere")
	require.NoError(t, err)
	defer db.Close()
	for want, b := range map[string]*advisory.Backend{
		"handle is nil":              advisory.New(nil),
		"the database handle is nil": advisory.NewDB(nil),
		`table "a b"`:                advisory.New(pool, advisory.Table("a b")),
		"Sessions(-1)":               advisory.NewDB(db, advisory.Sessions(-1)),
		"the pool allows 3":          advisory.New(pool, advisory.Sessions(4)),
	} {
		_, err := rowlock.New(b)
		require.ErrorContains(t, err, want)
		_, err = b.Acquire(t.Context(), request("a"))
		assert.True(t, driver.IsPermanent(err))
		_, err = b.Inspect(t.Context(), driver.Key{Name: "a"})
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, advisory.New(pool).Capabilities().Invalid)
}

// The first use of a connection shortens the server's TCP keep-alive timeouts so that it closes a dead client's
// connection after about 30 s. Timeouts that are already shorter stay as they are.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	pool := openPool(t, database(t)+"&tcp_keepalives_count=2", conns(1))
	b := advisory.New(pool)
	g := acquire(t, b, "a")
	require.NoError(t, b.Release(t.Context(), g))
	for setting, want := range map[string]string{
		"tcp_keepalives_idle": "15", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "2", "tcp_user_timeout": "30000",
	} {
		var got string
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got))
		assert.Equal(t, want, got, setting)
	}
}

// By default a backend borrows at most half of the pool. The other half is left for the work that runs while a lock is
// held.
func TestHalfOfThePoolIsLeft(t *testing.T) {
	t.Parallel()
	b := advisory.New(openPool(t, database(t), conns(3)))
	acquire(t, b, "a")
	leave, err := b.Busy(t.Context())
	require.NoError(t, err)
	defer leave()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = b.Acquire(ctx, request("b"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
