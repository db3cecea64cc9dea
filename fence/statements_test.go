package fence

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/sqltable"
)

// Every statement opens with its contract, and is valid as it stands.
func TestStatementsSayWhatTheyPromise(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(sqlFiles, "sql", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sqlFiles.ReadFile(path)
		lines := strings.SplitN(string(text), "\n", 4)
		if assert.Len(t, lines, 4, path) {
			assert.True(t, strings.HasPrefix(lines[0], "-- Parameters: "), path)
			assert.True(t, strings.HasPrefix(lines[1], "-- Result: "), path)
			assert.True(t, strings.HasPrefix(lines[2], "-- Promise: "), path)
		}
		return err
	})
	require.NoError(t, err)
}

// Every verb that a dialect runs has a file, and every file is run.
func TestEveryVerbHasAStatement(t *testing.T) {
	t.Parallel()
	table, err := sqltable.Parse("ops.jobs")
	require.NoError(t, err)
	for dir, verbs := range map[string][]string{
		"postgres": {"bound", "check", "protect", "raise", "read", "ready", "release", "savepoint", "unprotect"},
		"mysql": {"check", "lock_wait", "pass", "protect_delete", "protect_insert", "protect_update", "raise", "read", "ready", "release",
			"savepoint", "set_lock_wait", "unpass", "unprotect_delete", "unprotect_insert", "unprotect_update"},
		"sqlite": {"begin", "begin_immediate", "columns", "commit", "lock", "pass", "protect_delete", "protect_insert", "protect_update", "raise",
			"read", "ready", "rollback", "unpass", "unprotect_delete", "unprotect_insert", "unprotect_update"},
	} {
		s := load(table, dir, `"`)
		assert.Len(t, s, len(verbs), dir)
		for _, verb := range verbs {
			assert.NotEmpty(t, s[verb], "%s/%s", dir, verb)
			assert.NotContains(t, s[verb], "rowlock_lease", "%s/%s", dir, verb)
		}
	}
}
