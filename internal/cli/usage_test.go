package cli

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/cli/exit"
)

// The error for an invalid command line is one line that says what is wrong. The error does not print the whole help.
func TestWrongStoresAreNamed(t *testing.T) {
	t.Parallel()
	for store, want := range map[string]string{
		"mongodb://db/app":    `--store: there is no kind of store "mongodb": write postgres://…, mysql://…, sqlite:PATH, redis://…, etcd://… or zk://… (rowlock --help has all)`,
		"postgres:db/app":     `--store: "postgres:" is not followed by //: write postgres://USER@HOST/DATABASE`,
		"redis:6379":          `--store: "redis:" is not followed by //: write redis://HOST:PORT/DATABASE`,
		"locks.db":            `--store: it names no kind of store: write sqlite:PATH for a file, or SCHEME://…`,
		"u:SECRET@tcp(db":     `--store: it is not a MySQL address: write USER:PASSWORD@tcp(HOST:PORT)/DATABASE`,
		"SECRET word@x:y://z": `--store: it names no kind of store: write sqlite:PATH for a file, or SCHEME://…`,
	} {
		code, stdout, stderr := call(t, nil, "status", "job", "--store", store)
		assert.Equal(t, exit.Usage, code, store)
		assert.Empty(t, stdout, store)
		assert.Contains(t, stderr, want, store)
		assert.NotContains(t, stderr, "SECRET")
	}
}

// "rowlock --version" writes the same as "rowlock version". "rowlock migrate print" without a kind of database returns
// a usage error that says what to write.
func TestCommandLinesThatPeopleTry(t *testing.T) {
	t.Parallel()
	_, want, _ := call(t, nil, "version")
	code, stdout, stderr := call(t, nil, "--version")
	require.Zero(t, code, stderr)
	assert.Equal(t, want, stdout)

	code, stdout, stderr = call(t, []string{"HOME=" + t.TempDir()}, "migrate", "print")
	assert.Equal(t, exit.Usage, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "the kind of database is missing: write --dialect=postgres, --dialect=mysql or --dialect=sqlite, or name the store")
}

// migrate up and migrate down name each migration that they have applied or rolled back, and the store. migrate status
// names the store, too. migrate down --all rolls back all migrations.
func TestMigrateSaysWhatItDid(t *testing.T) {
	t.Parallel()
	store := "sqlite:" + filepath.Join(t.TempDir(), "locks.db")
	code, stdout, stderr := call(t, nil, "migrate", "up", "--store", store)
	require.Zero(t, code, stderr)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "rowlock: applied 00001_lease.sql in "+store+"\n")
	_, _, stderr = call(t, nil, "migrate", "up", "--store", store)
	assert.Equal(t, "rowlock: nothing to do: the tables of rowlock_lease are up to date in "+store+"\n", stderr)
	code, _, stderr = call(t, nil, "migrate", "down", "--store", store)
	require.Zero(t, code, stderr)
	assert.Regexp(t, "^rowlock: rolled back 0000[0-9]_[a-z_]+.sql in "+regexp.QuoteMeta(store)+"\n$", stderr)
	code, _, stderr = call(t, nil, "migrate", "down", "--all", "--store", store)
	require.Zero(t, code, stderr)
	assert.Contains(t, stderr, "rowlock: rolled back 00001_lease.sql in "+store+"\n")
	code, stdout, stderr = call(t, nil, "migrate", "status", "--store", store)
	require.Zero(t, code, stderr)
	assert.NotContains(t, stdout, " UTC")
	assert.Equal(t, "rowlock: the migrations of rowlock_lease in "+store+"\n", stderr)
}
