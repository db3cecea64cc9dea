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
		"postgres": {"bound", "check", "note", "outcome", "prune_outcomes", "raise", "read", "release", "savepoint"},
		"mysql":    {"check", "forget_outcome", "lock_wait", "note", "outcome", "raise", "read", "release", "savepoint", "set_lock_wait", "unused_outcomes"},
		"sqlite":   {"begin", "begin_immediate", "columns", "commit", "lock", "note", "outcome", "prune_outcomes", "raise", "read", "rollback"},
	} {
		s := load(table, dir, `"`)
		assert.Len(t, s, len(verbs), dir)
		for _, verb := range verbs {
			assert.NotEmpty(t, s[verb], "%s/%s", dir, verb)
			assert.NotContains(t, s[verb], "rowlock_lease", "%s/%s", dir, verb)
		}
	}
}
