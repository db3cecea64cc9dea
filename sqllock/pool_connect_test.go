package sqllock_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// swallowed fills db's pool with connections that are being opened but never become ready, because the network drops
// their packets. It returns when the network works again for later connections.
func swallowed(t *testing.T, db *sql.DB, proxy *faultproxy.Proxy) {
	t.Helper()
	const most = 2
	db.SetMaxOpenConns(most)
	var conns []*sql.Conn
	for range most {
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		conns = append(conns, conn)
	}
	var lost atomic.Int64
	proxy.CutFrom(func(net.Addr) bool {
		lost.Add(1)
		return true
	})
	lost.Store(0)
	waits := db.Stats().WaitCount
	ctx, cancel := context.WithCancel(t.Context())
	var waiters sync.WaitGroup
	for range most {
		waiters.Go(func() {
			_, err := db.Conn(ctx)
			assert.Error(t, err)
		})
	}
	until(t, "the callers that wait for a connection", func() bool { return db.Stats().WaitCount == waits+most })
	for _, conn := range conns { // discards the connection: because callers wait, the pool opens another one, with a context that has no deadline
		require.ErrorIs(t, conn.Raw(func(any) error { return sqldriver.ErrBadConn }), sqldriver.ErrBadConn)
		_ = conn.Close()
	}
	until(t, "a connect that is swallowed", func() bool { return lost.Load() > 0 }) // the pool opens one connection after the other
	cancel()
	waiters.Wait()
	proxy.CutFrom(func(net.Addr) bool { return false }) // later packets pass; lost packets stay lost
}

// Without a time-out, a connection that is being opened counts towards the pool's limit forever if the network drops
// its packets. The Capabilities of the backend contain a warning about the missing time-out, and the error of an
// acquire says that the pool has no free connection. Leases are still renewed. With the settings that the warning
// names, such connections fail, and the pool recovers.
func TestSwallowedConnects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		driver, dsn string
		dialect     migrations.Dialect
		backend     func(*sql.DB) *sqllock.Backend
		bound       string
	}{
		"pgx":     {"pgx", testenv.Postgres(t), migrations.Postgres, func(db *sql.DB) *sqllock.Backend { return sqllock.Postgres(db) }, "connect_timeout=3"},
		"mysql":   {"mysql", testenv.MySQL(t), migrations.MySQL, func(db *sql.DB) *sqllock.Backend { return sqllock.MySQL(db) }, "timeout=3s&readTimeout=3s"},
		"mariadb": {"mysql", testenv.MariaDB(t), migrations.MySQL, func(db *sql.DB) *sqllock.Backend { return sqllock.MySQL(db) }, "timeout=3s&readTimeout=3s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := sql.Open(c.driver, c.dsn)
			require.NoError(t, err)
			t.Cleanup(func() { _ = raw.Close() })
			testschema.Install(t, raw, c.dialect)
			pool := func(setting string) (*sql.DB, *renewing, *faultproxy.Proxy) {
				var proxy *faultproxy.Proxy
				dsn := through(t, &proxy)(c.dsn)
				switch {
				case setting == "":
				case strings.Contains(dsn, "?"):
					dsn += "&" + setting
				default:
					dsn += "?" + setting
				}
				db, err := sql.Open(c.driver, dsn)
				require.NoError(t, err)
				t.Cleanup(func() { _ = db.Close() })
				return db, newRenewing(t, c.backend(db), rowlock.TTL(10*time.Minute)), proxy
			}
			stuck, warned, proxy := pool("")
			lease := warned.acquire(t, "a")[0]
			swallowed(t, stuck, proxy)
			bounded, fine, proxy := pool(c.bound)
			swallowed(t, bounded, proxy)
			until(t, "a connection in the place of one that was swallowed", func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				return bounded.PingContext(ctx) == nil
			})
			assert.Empty(t, fine.Capabilities().Warnings)

			require.Len(t, warned.Capabilities().Warnings, 1)
			for setting := range strings.SplitSeq(c.bound, "&") {
				name, _, _ := strings.Cut(setting, "=")
				assert.Contains(t, warned.Capabilities().Warnings[0], name)
			}
			_, err = warned.TryAcquire(t.Context(), "b", rowlock.TTL(time.Second))
			require.ErrorIs(t, err, rowlock.ErrUnavailable)
			require.ErrorContains(t, err, "no free connection in the pool (2 of 2 in use)")
			require.NoError(t, lease.Renew(t.Context()))
			require.NoError(t, lease.Release(t.Context()))
		})
	}
}
