package migrations_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/migrations"
)

// If the connection of an Up breaks after any of its statements, the next Up finishes it. The next Down finishes a
// Down. MySQL and MariaDB cannot roll back DDL, so an interrupted migration is half done.
func TestInterruptedMigrationsGoOn(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on target) {
		if on.dialect != migrations.MySQL {
			return // a migration is a transaction there
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
		for step, cut := 1, true; cut; step++ {
			table := migrations.Table(fmt.Sprintf("up%d", step))
			cut = interrupted(t, proxy, connector, step, func(db *sql.DB) error { return migrations.Up(ctx, db, on.dialect, table) })
			on.isNewest(ctx, t, fmt.Sprintf("up%d", step), step)
			ups = step
		}
		for step, cut := 1, true; cut; step += 3 { // rolling back a version takes a few steps
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

// isNewest brings the tables to the newest version, and checks them.
func (on target) isNewest(ctx context.Context, t *testing.T, table string, step int) {
	t.Helper()
	require.NoError(t, migrations.Up(ctx, on.db, on.dialect, migrations.Table(table)), "cut at step %d", step)
	status, err := migrations.Status(ctx, on.db, on.dialect, migrations.Table(table))
	require.NoError(t, err)
	for _, m := range status {
		require.True(t, m.Applied, "cut at step %d: %s", step, m.Name)
	}
	require.Equal(t, 1, on.count(t, "SELECT count(*) FROM "+table+"_meta"), "cut at step %d", step)
	for _, columns := range []string{"reserved_for, waiters, next_seen_at FROM " + table, "domain, era FROM " + table + "_fence", "token FROM " + table + "_counter", "id FROM " + table + "_run"} {
		_, err := on.db.ExecContext(ctx, "SELECT "+columns)
		require.NoError(t, err, "cut at step %d", step)
	}
}

// interrupted runs work on a connection that breaks when it sends for the step-th time, and reports whether it sent
// that often.
func interrupted(t *testing.T, proxy *faultproxy.Proxy, connector driver.Connector, step int, work func(*sql.DB) error) (cut bool) {
	t.Helper()
	db := sql.OpenDB(connector)
	proxy.CutAfter(step)
	done := make(chan error, 1)
	go func() { done <- work(db) }()
	for {
		select {
		case <-done: // a connection that breaks while it is made is made again
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
