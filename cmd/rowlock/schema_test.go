//go:build unix

package main

import (
	"cmp"
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// The command does not create tables in a server's database by itself. The message says how to create the tables,
// and does not contain the password.
func TestMissingTableOnServer(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(testenv.Postgres(t))
	require.NoError(t, err)
	u.User = url.UserPassword(u.User.Username(), "secret")
	w := newWorkplace(t)
	never := filepath.Join(w.dir, "never")
	for _, args := range [][]string{{"run", "job", "--", "touch", never}, {"ls"}, {"status", "job"}, {"release", "job", "--token", "1"}} {
		code, output := w.call(t, append(args[:1:1], append([]string{"--store", u.String()}, args[1:]...)...)...)
		require.Equal(t, 69, code, output)
		require.Contains(t, output, `create it with: rowlock migrate up --store "$ROWLOCK_STORE" (`)
		require.NotContains(t, output, "secret")
	}
	require.NoFileExists(t, never)
	code, output := w.call(t, "migrate", "up", "--store", u.String())
	require.Zero(t, code, output)
	code, output = w.call(t, "run", "job", "--store", u.String(), "--", "true")
	require.Zero(t, code, output)
}

// The command creates no tables in a SQLite file that has tables of an application. In a SQLite file without other
// tables, the command creates its tables by itself.
func TestMissingTableInFile(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "app.db"))
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "CREATE TABLE customer (id INTEGER)")
	require.NoError(t, err)

	code, output := w.run(t, "run", "job", "--store", "sqlite:app.db", "--", "true")
	require.Equal(t, 69, code, output)
	require.Contains(t, output, "create it with: rowlock migrate up --store sqlite:app.db")
	code, output = w.run(t, "run", "job", "--store", "sqlite:app.db", "--table", "mine", "--", "true")
	require.Equal(t, 69, code, output)
	require.Contains(t, output, "rowlock migrate up --store sqlite:app.db --table mine")

	code, output = w.run(t, "migrate", "up", "--store", "sqlite:app.db")
	require.Zero(t, code, output)
	code, output = w.run(t, "run", "job", "--store", "sqlite:app.db", "--", "true")
	require.Zero(t, code, output)
}

// If a SQLite file cannot be opened, the exit code says that the store is unavailable, and not that the lock is held.
func TestFileThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	code, output := w.run(t, "run", "job", "--store", "sqlite:no/such/folder/locks.db", "--", "true")
	require.Equal(t, 69, code, output)
}

// The command opens a SQLite file whose name contains special characters under exactly that name.
func TestFileWithSpecialName(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	code, output := w.run(t, "run", "job", "--store", "sqlite:50% off?#&.db", "--", "true")
	require.Zero(t, code, output)
	require.FileExists(t, filepath.Join(w.dir, "50% off?#&.db"))
}

// If a user's own migrations have created the tables, "rowlock run" uses the tables. "rowlock migrate" does not change
// the tables, and its message says that other migrations have created them.
func TestTablesOfOtherMigrations(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	for driver, at := range map[string][2]string{
		"sqlite": {filepath.Join(w.dir, "made.db"), "sqlite:" + filepath.Join(w.dir, "made.db")},
		"pgx":    {testenv.Postgres(t)},
	} {
		store := cmp.Or(at[1], at[0])
		code, script := w.call(t, "migrate", "print", "--store", store)
		require.Zero(t, code, script)
		db, err := sql.Open(driver, at[0])
		require.NoError(t, err)
		defer db.Close()
		_, err = db.ExecContext(t.Context(), script)
		require.NoError(t, err)

		code, output := w.call(t, "run", "job", "--store", store, "--", "true")
		require.Zero(t, code, output)
		_, output = w.call(t, "doctor", "--store", store)
		require.Regexp(t, `(?m)^ok +schema .*which migrations were applied is unknown`, output)
		for _, verb := range []string{"up", "down", "status"} {
			code, output = w.call(t, "migrate", verb, "--store", store)
			require.Equal(t, 64, code, output)
			require.Contains(t, output, "the tables were made by other migrations, which must bring them up to date as well")
		}
	}
}

// "rowlock migrate --functions" creates and drops the functions for SQL sessions, and leaves the tables alone.
// SQLite has no functions.
func TestMigrateFunctions(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	store := testenv.Postgres(t)
	run := func(args ...string) (int, string) { return w.call(t, append(args, "--store", store)...) }
	code, output := run("migrate", "up", "--functions")
	require.Equal(t, 69, code, "the tables are missing: %s", output)
	require.Contains(t, output, "rowlock_lease")
	for _, args := range [][]string{{"migrate", "up"}, {"migrate", "up", "--functions"}} {
		code, output = run(args...)
		require.Zero(t, code, output)
	}
	require.Contains(t, output, "applied 00102_fence.sql")
	code, output = run("migrate", "status", "--functions")
	require.Zero(t, code, output)
	require.Regexp(t, `00101_locks.sql +20`, output)
	require.NotContains(t, output, "00001")
	code, output = run("migrate", "down")
	require.Equal(t, 69, code, output)
	require.Contains(t, output, "roll back the functions first (migrations.Functions, or rowlock migrate down --all --functions)")
	code, output = w.run(t, "run", "job", "--store", store, "--", "rowlock", "migrate", "down", "--all", "--functions", "--store", store)
	require.Zero(t, code, "a lock does not need the functions: %s", output)
	require.Contains(t, output, "rolled back 00101_locks.sql")
	code, output = run("migrate", "down", "--all")
	require.Zero(t, code, output)

	code, output = w.call(t, "migrate", "up", "--functions", "--store", "sqlite:"+filepath.Join(w.dir, "app.db"))
	require.Equal(t, 64, code, output)
	code, output = w.call(t, "migrate", "print", "--functions", "--dialect=mysql")
	require.Zero(t, code, output)
	require.Contains(t, output, "DELIMITER")
}
