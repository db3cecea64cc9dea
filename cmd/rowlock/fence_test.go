//go:build unix

package main

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/memlock"
)

// Sealing stores the holder's token in the database as a mark. A holder whose token is smaller than the mark can never
// seal. The error then contains a command line that resets the mark. A shell can run this command line as printed,
// whatever characters the names contain. After the reset this holder can seal. The holder that had sealed before the
// reset is then rejected.
func TestTheLineThatAnErrorPrintsResets(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	eachResets(t, w, "sqlite:locks.db", "sqlite", filepath.Join(w.dir, "locks.db"), fence.SQLite)
}

// TestCompatTheLineThatAnErrorPrintsResets shows the same on other databases.
func TestCompatTheLineThatAnErrorPrintsResets(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]struct {
		driver string
		dsn    func(testing.TB) string
		guard  func(*sql.DB, ...fence.Option) *fence.Guard
	}{
		"postgres": {"pgx", testenv.Postgres, fence.Postgres},
		"mysql":    {"mysql", testenv.MySQL, fence.MySQL},
		"mariadb":  {"mysql", testenv.MariaDB, fence.MySQL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testenv.Compat(t)
			dsn := store.dsn(t)
			eachResets(t, newWorkplace(t), dsn, store.driver, dsn, store.guard)
		})
	}
}

func eachResets(t *testing.T, w workplace, store, driver, dsn string, guardOf func(*sql.DB, ...fence.Option) *fence.Guard) {
	t.Helper()
	w.env = append(w.env, "ROWLOCK_STORE="+migrated(t, w, store))
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	defer db.Close()
	guard := guardOf(db)
	for _, names := range [][2]string{{"", "nightly"}, {"", "-n"}, {"it's", `two words, "$HOME" \ and ` + "`x`"}, {"-ns", "日本"}} {
		resets(t, w, guard, names[0], names[1])
	}
}

func resets(t *testing.T, w workplace, guard *fence.Guard, namespace, resource string) {
	t.Helper()
	forgetful := memlock.New() // this store has no history, so its tokens are smaller than the earlier tokens
	forgetful.Advance(-time.Hour)
	before := lease(t, memlock.New(), "job", namespace)
	require.NoError(t, guard.Seal(t.Context(), before, resource))
	for _, next := range []*rowlock.Lease{lease(t, forgetful, "job", namespace), lease(t, memlock.New(), "another", namespace)} {
		err := guard.Seal(t.Context(), next, resource)
		require.Error(t, err)
		_, line, found := strings.Cut(err.Error(), "rowlock fence reset ")
		require.True(t, found, err)
		output, err := w.command(t, scriptTimeout, "sh", "-c", "rowlock fence reset "+line).CombinedOutput()
		require.NoError(t, err, "%s\n%s", line, output)
		require.Contains(t, string(output), ", which had token "+before.Token().String()+", is reset")
		require.NoError(t, guard.Seal(t.Context(), next, resource))
		require.ErrorIs(t, guard.Tx(before.Context(), nil, resource), fence.ErrStale)
		before = next
	}
}

func lease(t *testing.T, locks *memlock.Backend, name, namespace string) *rowlock.Lease {
	t.Helper()
	locker, err := rowlock.New(locks, rowlock.Namespace(namespace))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, locker.Close()) })
	l, err := locker.TryAcquire(t.Context(), name)
	require.NoError(t, err)
	return l
}
