//go:build sqlite_mattn || sqlite_ncruces

package compat_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// sqllock keeps the driver contract with other SQLite drivers than modernc's. One of these drivers takes a minute to
// build, and two of them register the same name in database/sql. So each driver has its own build tag, and only `make
// compat` builds them.
func TestConformanceOfSQLiteDrivers(t *testing.T) {
	testenv.Compat(t)
	locktest.Run(t, func(tb testing.TB) locktest.Harness {
		path := filepath.Join(tb.TempDir(), "locks.db")
		raw, err := openSQLite(path)
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, raw.Close()) })
		require.NoError(tb, migrations.Up(context.Background(), raw, migrations.SQLite))
		return file{&inprocess.Harness{
			Connect: func() (inprocess.Store, func() error, error) {
				db, err := openSQLite(path)
				if err != nil {
					return nil, nil, err
				}
				return sqllock.SQLite(db), db.Close, nil
			},
			End: func(ctx context.Context, key driver.Key) error {
				_, err := raw.ExecContext(ctx, "UPDATE rowlock_lease SET held_until = held_until - (expires_at - now), expires_at = now "+
					"FROM (SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000 AS now) WHERE namespace = ? AND name = ? AND expires_at > now", key.Namespace, key.Name)
				return err
			},
		}}
	})
}

// file is a store in a SQLite file. Only one client at a time can write to it.
type file struct{ *inprocess.Harness }

func (file) Solitary() {}
