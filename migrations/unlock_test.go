package migrations_test

import (
	"context"
	"database/sql"
	"net/url"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/migrations"
)

// Promise 10 of docs/guarantees.md: if the server does not answer, a migration still ends. goose unlocks with a context
// that never ends, so SessionUnlock has its own timeout. The session may still have the lock, so SessionUnlock closes
// the session.
func TestUnlockIsBounded(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on target) {
		if on.dialect == migrations.SQLite {
			return // SQLite has no session lock
		}
		db, proxy := on.through(t)
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		locker := migrations.SessionLocker(on.dialect, "app")
		require.NoError(t, locker.SessionLock(t.Context(), conn))
		proxy.Cut()
		unlocked := make(chan error, 1)
		go func() { unlocked <- locker.SessionUnlock(context.WithoutCancel(t.Context()), conn) }()
		select {
		case err := <-unlocked:
			require.Error(t, err)
		case <-time.After(30 * time.Second):
			proxy.Reset()
			<-unlocked
			require.FailNow(t, "it waits without a bound")
		}
		require.Zero(t, db.Stats().OpenConnections, "the session is thrown away")
	})
}

// through returns a connection pool that connects to the database through a proxy. The proxy can cut the network.
func (on target) through(t *testing.T) (*sql.DB, *faultproxy.Proxy) {
	t.Helper()
	over := func(addr string) *faultproxy.Proxy {
		proxy, err := faultproxy.New(addr)
		require.NoError(t, err)
		t.Cleanup(proxy.Close)
		return proxy
	}
	var proxy *faultproxy.Proxy
	dsn := ""
	if on.dialect == migrations.MySQL {
		config, err := mysqldriver.ParseDSN(on.dsn)
		require.NoError(t, err)
		proxy = over(config.Addr)
		config.Net, config.Addr = "tcp", proxy.Addr()
		dsn = config.FormatDSN()
	} else {
		u, err := url.Parse(on.dsn)
		require.NoError(t, err)
		proxy = over(u.Host)
		u.Host = proxy.Addr()
		dsn = u.String()
	}
	db, err := sql.Open(on.driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db, proxy
}
