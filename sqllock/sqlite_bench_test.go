package sqllock_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// BenchmarkSQLiteCycle measures acquire and release on one connection, with WAL and synchronous=NORMAL.
func BenchmarkSQLiteCycle(b *testing.B) {
	db := openSQLite(b, "file:"+filepath.Join(b.TempDir(), "locks.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	require.NoError(b, migrations.Up(b.Context(), db, migrations.SQLite))
	locks := sqllock.SQLite(db)
	for b.Loop() {
		g, err := locks.Acquire(b.Context(), request("job"))
		require.NoError(b, err)
		require.NoError(b, locks.Release(b.Context(), g))
	}
}
