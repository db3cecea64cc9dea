package fence_test

import (
	"context"
	"database/sql"
	"net/url"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/otherdriver"
)

// Promise 10 of docs/guarantees.md: no call waits without a limit, at whatever step the server stops answering, even
// with a driver that ignores contexts, which a TestCompat uses. The test silences the server at each step of each call: the server receives the
// request of that step, but no reply arrives.
func TestASilentServerHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	onFurtherHandles(t)
	for name, w := range map[string]way{
		"pgx":      {postgres, openPgxAt},
		"postgres": {postgres, openPostgresAt("pgx")},
		"deaf":     {postgres, openPostgresAt(otherdriver.Deaf)},
		"mysql":    {mysql, openMySQLAt},
		"mariadb":  {mariadb, openMySQLAt},
	} {
		if (name == "postgres" || name == "deaf") != further(t) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := w.engine.fresh(t)
			lease := s.lease(t, "r")
			require.NoError(t, s.guard.Seal(t.Context(), lease))
			for what, call := range map[string]func(ctx context.Context, g *fence.Guard) error{
				"Seal":  func(ctx context.Context, g *fence.Guard) error { return g.Seal(ctx, lease) },
				"Claim": func(ctx context.Context, g *fence.Guard) error { return g.Claim(ctx, lease, "claimed") },
				"Reset": func(ctx context.Context, g *fence.Guard) error { return g.ResetAll(ctx, "other", false) },
				"Tx":    func(ctx context.Context, g *fence.Guard) error { return transaction(ctx, g, lease, name) },
				"Protect": func(ctx context.Context, g *fence.Guard) error {
					if err := g.Unprotect(ctx, "ledger"); err != nil {
						return err
					}
					return g.Protect(ctx, "ledger", "r")
				},
				"Marks": func(ctx context.Context, g *fence.Guard) error {
					_, err := g.Marks(ctx, "", false)
					return err
				},
				"Prune": func(ctx context.Context, g *fence.Guard) error {
					_, err := g.Prune(ctx, fence.MinUnused)
					return err
				},
			} {
				t.Run(what, func(t *testing.T) {
					t.Parallel()
					faultnet.Silence(t, 2, func() (*faultproxy.Proxy, func(context.Context) error, func()) {
						guard, proxy, end := w.open(t, s.dsn)
						return proxy, func(ctx context.Context) error { return call(ctx, guard) }, end
					})
				})
			}
		})
	}
}

// way is a database and a driver. Its function open returns a guard that reaches the database through a proxy.
type way struct {
	engine engine
	open   func(t *testing.T, dsn string) (guard *fence.Guard, proxy *faultproxy.Proxy, end func())
}

// transaction runs a transaction of the lease. It may take longer than ctx only to find out the outcome of its commit.
// With a driver that ignores ctx, the function sends no statements, because they would not end with ctx.
func transaction(ctx context.Context, g *fence.Guard, lease *rowlock.Lease, way string) error {
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(lease.Context(), deadline)
	defer cancel()
	fence.SetSettleLimit(g, time.Second) // the network stays cut after ctx has ended
	if way == "pgx" {
		return g.TxPgx(ctx, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "DELETE FROM elsewhere")
			return err
		})
	}
	return g.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if way == "deaf" {
			return nil
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM elsewhere")
		return err
	})
}

func openPgxAt(t *testing.T, dsn string) (*fence.Guard, *faultproxy.Proxy, func()) {
	t.Helper()
	dsn, proxy := postgresAt(t, dsn)
	pool, err := pgxpool.New(t.Context(), dsn)
	require.NoError(t, err)
	return fence.Pgx(pool), proxy, func() {
		proxy.Close() // before pool.Close, which would otherwise wait for a connection that hangs
		pool.Close()
	}
}

func openPostgresAt(driver string) func(*testing.T, string) (*fence.Guard, *faultproxy.Proxy, func()) {
	return func(t *testing.T, dsn string) (*fence.Guard, *faultproxy.Proxy, func()) {
		t.Helper()
		dsn, proxy := postgresAt(t, dsn)
		db, err := sql.Open(driver, dsn)
		require.NoError(t, err)
		return fence.Postgres(db), proxy, func() {
			proxy.Close()
			_ = db.Close() // Close may fail, because it sends a message on closed connections
		}
	}
}

func postgresAt(t *testing.T, dsn string) (string, *faultproxy.Proxy) {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	proxy, err := faultproxy.New(u.Host)
	require.NoError(t, err)
	u.Host = proxy.Addr()
	return u.String(), proxy
}

func openMySQLAt(t *testing.T, dsn string) (*fence.Guard, *faultproxy.Proxy, func()) {
	t.Helper()
	config, err := mysqldriver.ParseDSN(dsn)
	require.NoError(t, err)
	proxy, err := faultproxy.New(config.Addr)
	require.NoError(t, err)
	config.Addr = proxy.Addr()
	db, err := sql.Open("mysql", config.FormatDSN())
	require.NoError(t, err)
	return fence.MySQL(db), proxy, func() {
		proxy.Close()
		_ = db.Close()
	}
}
