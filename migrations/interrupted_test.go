package migrations_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
)

// If the connection breaks after any statement of Up, the next Up completes the migrations. If the connection breaks
// during DownAll, the next DownAll completes the rollback. MySQL and MariaDB cannot roll back DDL, so an interrupted
// migration has run only some of its statements. The test draws some of the statements; the log has their numbers.
func TestInterruptedMigrationsGoOn(t *testing.T) {
	interruptMigrations(t, func() int { return 1 + rand.IntN(19) }, func() int { return 1 + rand.IntN(59) })
}

// The connection breaks after every statement of Up, and after every third of DownAll: a rollback of one version sends
// several requests.
func TestCompatInterruptedMigrationsGoOn(t *testing.T) {
	testenv.Compat(t)
	interruptMigrations(t, func() int { return 1 }, func() int { return 3 })
}

// interruptMigrations interrupts Up and DownAll again and again, each time later by the number of requests that up and
// down return.
func interruptMigrations(t *testing.T, up, down func() int) {
	t.Helper()
	eachDatabase(t, func(t *testing.T, on target) {
		if on.dialect != migrations.MySQL {
			return // PostgreSQL and SQLite run a migration in a transaction
		}
		config, err := mysql.ParseDSN(on.dsn)
		require.NoError(t, err)
		proxy, err := faultproxy.New(config.Addr)
		require.NoError(t, err)
		t.Cleanup(proxy.Close)
		config.Addr, config.Logger = proxy.Addr(), &mysql.NopLogger{}
		connector, err := mysql.NewConnector(config)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		ups, downs := 0, 0
		for step, cut := up(), true; cut; step += up() {
			t.Logf("Up, request %d", step)
			table := migrations.Table(fmt.Sprintf("up%d", step))
			cut = interrupted(t, proxy, connector, step, func(db *sql.DB) error { return migrations.Up(ctx, db, on.dialect, table) })
			on.isNewest(ctx, t, fmt.Sprintf("up%d", step), step)
			ups = step
		}
		for step, cut := down(), true; cut; step += down() {
			t.Logf("DownAll, request %d", step)
			table := migrations.Table(fmt.Sprintf("down%d", step))
			require.NoError(t, migrations.Up(ctx, on.db, on.dialect, table))
			cut = interrupted(t, proxy, connector, step, func(db *sql.DB) error { return migrations.DownAll(ctx, db, on.dialect, table) })
			require.NoError(t, migrations.DownAll(ctx, on.db, on.dialect, table), "cut at step %d", step)
			on.isNewest(ctx, t, fmt.Sprintf("down%d", step), step)
			downs = step
		}
		assert.Greater(t, ups, 2*len(shipped(t, on.dialect)), "an Up sends more")
		assert.Greater(t, downs, 2*len(shipped(t, on.dialect)), "and so does a Down")
	})
}

// isNewest calls Up, and checks that the tables then have the newest version.
func (on target) isNewest(ctx context.Context, t *testing.T, table string, step int) {
	t.Helper()
	require.NoError(t, migrations.Up(ctx, on.db, on.dialect, migrations.Table(table)), "cut at step %d", step)
	status, err := migrations.Status(ctx, on.db, on.dialect, migrations.Table(table))
	require.NoError(t, err)
	for _, m := range status {
		require.True(t, m.Applied, "cut at step %d: %s", step, m.Name)
	}
	require.Equal(t, 1, on.count(t, "SELECT count(*) FROM "+table+"_meta"), "cut at step %d", step)
	for _, columns := range []string{"reserved_for, waiters, next_until, done FROM " + table, "domain, era FROM " + table + "_fence", "token FROM " + table + "_counter", "id FROM " + table + "_run"} {
		_, err := on.db.ExecContext(ctx, "SELECT "+columns)
		require.NoError(t, err, "cut at step %d", step)
	}
}

// interrupted runs work on a connection that breaks when the client sends its step-th request. It returns false if the
// client sent fewer requests.
func interrupted(t *testing.T, proxy *faultproxy.Proxy, connector driver.Connector, step int, work func(*sql.DB) error) (cut bool) {
	t.Helper()
	db := sql.OpenDB(connector)
	proxy.CutAfter(step)
	done := make(chan error, 1)
	go func() { done <- work(db) }()
	for {
		select {
		case <-done: // work may succeed after a cut: if a new connection breaks while it is being opened, the pool opens another one
			cut = cut || proxy.IsCut()
			proxy.Restore()
			require.NoError(t, db.Close())
			return cut
		case <-time.After(time.Millisecond):
			if proxy.IsCut() {
				cut = true
				proxy.Restore()
			}
		}
	}
}
