package sqllock_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// BenchmarkSQLiteCycle measures acquire and release on one connection, with WAL and synchronous=NORMAL. The benchmark
// covers an exclusive grant, a share, and a share beside 63 others. It also measures a renewal of 64 shares.
func BenchmarkSQLiteCycle(b *testing.B) {
	db := openSQLite(b, "file:"+filepath.Join(b.TempDir(), "locks.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	require.NoError(b, migrations.Up(b.Context(), db, migrations.SQLite))
	locks := sqllock.SQLite(db)
	shares := make([]driver.Grant, 64)
	for i := range shares {
		var err error
		shares[i], err = locks.Acquire(b.Context(), reading("crowded"))
		require.NoError(b, err)
	}
	cycle := func(b *testing.B, ask func(string) driver.Request, name string) {
		for b.Loop() {
			g, err := locks.Acquire(b.Context(), ask(name))
			require.NoError(b, err)
			require.NoError(b, locks.Release(b.Context(), g))
		}
	}
	b.Run("exclusive", func(b *testing.B) { cycle(b, request, "job") })
	b.Run("reader", func(b *testing.B) { cycle(b, reading, "read") })
	b.Run("renewal of 64 readers", func(b *testing.B) {
		for b.Loop() {
			_, err := locks.Renew(b.Context(), shares)
			require.NoError(b, err)
		}
	})
	require.NoError(b, locks.Release(b.Context(), shares[63]))
	b.Run("reader beside 63", func(b *testing.B) { cycle(b, reading, "crowded") })
}
