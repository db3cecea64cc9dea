package fence

import (
	"context"
	"database/sql"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/migrations"
)

// Prune deletes outcome rows that were not used for a long time. It skips rows in use and does not wait for them.
// It keeps rows that Tx may still have to read, whatever the caller passes as unused.
func TestUnusedOutcomesAreForgotten(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]struct {
		driver  string
		dsn     func(testing.TB) string
		dialect migrations.Dialect
		guard   func(*sql.DB, ...Option) *Guard
		age     string
	}{
		"postgres": {"pgx", testenv.Postgres, migrations.Postgres, Postgres, "committed_at - interval '2 days'"},
		"mysql":    {"mysql", testenv.MySQL, migrations.MySQL, MySQL, "committed_at - INTERVAL 2 DAY"},
		"mariadb":  {"mysql", testenv.MariaDB, migrations.MySQL, MySQL, "committed_at - INTERVAL 2 DAY"},
		"sqlite": {"sqlite", func(t testing.TB) string { return "file:" + t.TempDir() + "/data.db?_pragma=journal_mode(WAL)" },
			migrations.SQLite, SQLite, "committed_at - 172800000000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			dsn := store.dsn(t)
			db, err := sql.Open(store.driver, dsn)
			require.NoError(t, err)
			defer db.Close()
			require.NoError(t, migrations.Up(ctx, db, store.dialect))
			locker, err := rowlock.New(memlock.New(), rowlock.TTL(time.Hour))
			require.NoError(t, err)
			defer locker.Close()
			lease, err := locker.Acquire(ctx, "r")
			require.NoError(t, err)
			require.NoError(t, store.guard(db).Seal(ctx, lease))
			prunes := store.guard(db)
			forget := func(want int) {
				t.Helper()
				n, err := prunes.pruneOutcomes(ctx, 0)
				require.NoError(t, err)
				assert.Equal(t, want, n)
			}
			use := func(g *Guard, inside func()) {
				t.Helper()
				require.NoError(t, g.Tx(lease.Context(), func(context.Context, *sql.Tx) error { inside(); return nil }))
			}
			age := func() {
				t.Helper()
				_, err := db.ExecContext(ctx, "UPDATE rowlock_lease_outcome SET committed_at = "+store.age)
				require.NoError(t, err)
			}
			busy, idle := store.guard(db), store.guard(db)
			use(busy, func() {})
			use(idle, func() {})
			use(store.guard(db), func() {})
			forget(0)
			age()
			if store.dialect == migrations.Postgres { // on the other databases Prune would wait for a locked old row
				use(busy, func() { forget(2) })
			} else {
				forget(3)
			}
			use(busy, func() {})
			use(idle, func() {})
			if store.dialect != migrations.SQLite { // SQLite has one writer
				use(busy, func() { forget(0) })
			}
			forget(0)

			if store.dialect == migrations.Postgres {
				pool, err := pgxpool.New(ctx, dsn)
				require.NoError(t, err)
				defer pool.Close()
				prunes = Pgx(pool)
				age()
				forget(2)
			}
		})
	}
}
