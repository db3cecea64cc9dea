//go:build unix

// Package python_test checks the Python client against the suite of package locktest, against the statements of the
// Go packages, and together with Go processes.
package python_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/locktest/stdio"
	"github.com/rowlock/rowlock/migrations"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == goWorker {
		work(os.Args[2], os.Args[3])
		return
	}
	goleak.VerifyTestMain(m)
}

// python returns the path of a Python 3 with psycopg 3.
func python(t *testing.T) string {
	t.Helper()
	path, err := testserver.Python(t.Context(), testserver.Options{Logf: t.Logf})
	if testserver.Missing(err) && os.Getenv("ROWLOCK_REQUIRE") != "all" {
		t.Skip(err)
	}
	require.NoError(t, err)
	return path
}

// database returns the DSN of a new database with the tables of rowlock.
func database(t *testing.T) (string, *sql.DB) {
	t.Helper()
	dsn := testenv.Postgres(t)
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, migrations.Up(t.Context(), db, migrations.Postgres))
	return dsn, db
}

// The client has the statements of the Go packages, byte for byte.
func TestStatementsAreThoseOfGo(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("rowlock/sql/*.sql")
	require.NoError(t, err)
	require.Greater(t, len(files), 10)
	for _, path := range files {
		name := filepath.Base(path)
		of := filepath.Join("../../sqllock/internal/postgres/sql", name)
		if mark, ok := strings.CutPrefix(name, "fence_"); ok {
			of = filepath.Join("../../fence/sql/postgres", mark)
		}
		want, err := os.ReadFile(of)
		require.NoError(t, err)
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), "copy %s to %s", of, path)
	}
}

// The Python client keeps every promise of the suite that it has operations for.
func TestConformance(t *testing.T) {
	t.Parallel()
	dsn, _ := database(t)
	h, err := stdio.New(dsn, python(t), "conformance.py")
	require.NoError(t, err)
	defer func() { require.NoError(t, h.CloseAll()) }()
	var sum stdio.Summary
	var failed []error
	_ = stdio.Check(t.Context(), h, func(r locktest.Result) { // its error joins those of the results
		sum.Add(r)
		var not *locktest.NotRun
		switch {
		case errors.As(r.Err, &not):
			assert.True(t, lacks(not.Reason), "%v", not)
		case r.Err != nil:
			failed = append(failed, r.Err)
		}
	})
	for _, err := range failed {
		t.Error(err)
	}
	t.Log(sum.String())
	assert.Greater(t, sum.Passed, 50)
}

// lacks reports whether reason is something that the client does not have.
func lacks(reason string) bool {
	for _, what := range []string{"driver.Operator", "driver.HandOverer", "driver.Notifier", "Capabilities.Shares", "Capabilities.Pauses", "Capabilities.Ticks", "locktest.Expirer"} {
		if strings.Contains(reason, what) {
			return true
		}
	}
	return false
}

// Each broken client fails the case that checks the promise which it breaks.
func TestBrokenClientsAreCaught(t *testing.T) {
	t.Parallel()
	dsn, _ := database(t)
	for defect, name := range map[string]string{
		"deadline from the reply":          "program-counts-from-before-the-request",
		"trusts until a renewal says lost": "program-stops-first",
		"renews by name":                   "renewal-compares-nonce",
		"releases without the nonce":       "release-compares-nonce",
		"draws another nonce for a retry":  "program-repeats-with-its-nonce",
		"leaves what it gave up":           "program-leaves-nothing",
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			h, err := stdio.New(dsn, python(t), "testdata/broken.py", defect)
			require.NoError(t, err)
			defer func() { require.NoError(t, h.CloseAll()) }()
			var found *locktest.Failure
			require.ErrorAs(t, stdio.Check(context.WithoutCancel(t.Context()), h, func(locktest.Result) {}, name), &found)
			assert.Equal(t, name, found.Case)
			t.Log(found)
		})
	}
}
