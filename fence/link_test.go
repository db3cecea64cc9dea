package fence_test

import (
	"context"
	"database/sql"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/faultproxy"
)

func init() { _ = mysqldriver.SetLogger(&mysqldriver.NopLogger{}) } // the tests cut connections, and the driver would log each of them

// execute runs a statement in a transaction of database/sql or pgx.
type execute func(statement string) error

// link is a guard whose pool reaches the server through a proxy that the test can cut. The store's own pool reaches the
// server directly.
type link struct {
	*store

	proxy  *faultproxy.Proxy
	direct atomic.Bool // new connections bypass the proxy
	guard  *fence.Guard
	tx     func(ctx context.Context, fn func(ctx context.Context, do execute) error) error
}

// eachLink runs the function test in parallel on the main handle of each server, or only on the given ones. For each
// handle, the counter of the test starts at zero, and the lease has sealed. A TestCompat runs it with database/sql on
// PostgreSQL.
func eachLink(t *testing.T, test func(t *testing.T, l *link, lease *rowlock.Lease), kinds ...string) {
	t.Helper()
	t.Parallel()
	onFurtherHandles(t)
	for name, open := range map[string]func(t *testing.T) *link{
		"postgres": func(t *testing.T) *link { return linked(t, postgres, (*link).openPostgres) },
		"pgx":      func(t *testing.T) *link { return linked(t, postgres, (*link).openPgx) },
		"mysql":    func(t *testing.T) *link { return linked(t, mysql, (*link).openMySQL) },
		"mariadb":  func(t *testing.T) *link { return linked(t, mariadb, (*link).openMySQL) },
	} {
		if (name == "postgres") != further(t) || !further(t) && len(kinds) > 0 && !slices.Contains(kinds, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t)
			lease := l.lease(t, "r")
			require.NoError(t, l.guard.Seal(t.Context(), lease))
			test(t, l, lease)
		})
	}
}

func linked(t *testing.T, e engine, open func(*link, *testing.T)) *link {
	t.Helper()
	l := &link{store: e.fresh(t)}
	l.exec(t, "CREATE TABLE counter (id int PRIMARY KEY, n bigint NOT NULL)")
	l.exec(t, "INSERT INTO counter (id, n) VALUES (1, 0)")
	open(l, t)
	return l
}

const increment = "UPDATE counter SET n = n + 1 WHERE id = 1"

func (l *link) count(t *testing.T) int64 {
	t.Helper()
	return l.int(t, "SELECT n FROM counter WHERE id = 1")
}

// dial starts a proxy to the address target, and returns a dial function that connects through the proxy.
func (l *link) dial(t *testing.T, target string) func(context.Context, string, string) (net.Conn, error) {
	t.Helper()
	proxy, err := faultproxy.New(target)
	require.NoError(t, err)
	l.proxy = proxy
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		if l.direct.Load() {
			return new(net.Dialer).DialContext(ctx, "tcp", target)
		}
		return new(net.Dialer).DialContext(ctx, "tcp", proxy.Addr())
	}
}

func (l *link) over(t *testing.T, db *sql.DB) {
	t.Helper()
	t.Cleanup(func() {
		l.proxy.Close() // before db.Close, which would otherwise wait for a hanging connection
		_ = db.Close()  // Close may fail, because it sends a message on a closed connection
	})
	l.guard = l.engine.guard(db)
	l.tx = func(ctx context.Context, fn func(context.Context, execute) error) error {
		return l.guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			return fn(ctx, func(statement string) error {
				_, err := tx.ExecContext(ctx, statement)
				return err
			})
		})
	}
}

func (l *link) openPostgres(t *testing.T) {
	config, err := pgx.ParseConfig(l.dsn)
	require.NoError(t, err)
	config.DialFunc = l.dial(t, net.JoinHostPort(config.Host, port(config.Port)))
	l.over(t, stdlib.OpenDB(*config))
}

func (l *link) openPgx(t *testing.T) {
	config, err := pgxpool.ParseConfig(l.dsn)
	require.NoError(t, err)
	config.ConnConfig.DialFunc = l.dial(t, net.JoinHostPort(config.ConnConfig.Host, port(config.ConnConfig.Port)))
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() {
		l.proxy.Close()
		pool.Close()
	})
	l.guard = fence.Pgx(pool)
	l.tx = func(ctx context.Context, fn func(context.Context, execute) error) error {
		return l.guard.TxPgx(ctx, func(ctx context.Context, tx pgx.Tx) error {
			return fn(ctx, func(statement string) error {
				_, err := tx.Exec(ctx, statement)
				return err
			})
		})
	}
}

func (l *link) openMySQL(t *testing.T) {
	config, err := mysqldriver.ParseDSN(l.dsn)
	require.NoError(t, err)
	config.ReadTimeout = l.readTimeout()
	config.DialFunc = l.dial(t, config.Addr)
	connector, err := mysqldriver.NewConnector(config)
	require.NoError(t, err)
	l.over(t, sql.OpenDB(connector))
}

// readTimeout returns the driver's readTimeout, so that the tests run with and without one. On MariaDB it is a second:
// the documentation recommends a readTimeout. On MySQL it is the driver's default, which is none.
func (l *link) readTimeout() time.Duration {
	if l.name == "mariadb" {
		return time.Second
	}
	return 0
}

func port(n uint16) string { return strconv.Itoa(int(n)) }
