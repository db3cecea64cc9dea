package sqllock_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/sqltable"
)

// statementFiles returns the folder that contains the statements of all databases.
func statementFiles() fs.FS { return os.DirFS("internal") }

// Every SQL file begins with the contract of its statement: parameters, result and promise.
func TestStatementsSayWhatTheyPromise(t *testing.T) {
	n := 0
	err := fs.WalkDir(statementFiles(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".sql") {
			return err
		}
		n++
		text, err := fs.ReadFile(statementFiles(), path)
		lines := strings.SplitN(string(text), "\n", 4)
		if assert.Len(t, lines, 4, path) {
			assert.True(t, strings.HasPrefix(lines[0], "-- Parameters: "), path)
			assert.True(t, strings.HasPrefix(lines[1], "-- Result: "), path)
			assert.True(t, strings.HasPrefix(lines[2], "-- Promise: "), path)
		}
		return err
	})
	require.NoError(t, err)
	require.Greater(t, n, 80)
}

// Every statement that a backend runs has a file, and every file is used.
func TestEveryVerbHasAStatement(t *testing.T) {
	table, err := sqltable.Parse("ops.jobs")
	require.NoError(t, err)
	for dir, verbs := range map[string][]string{
		"postgres": {
			"acquire", "acquire_free", "acquire_sealed", "acquire_shared", "acquire_shared_free", "adopt_epoch", "alive", "call", "create", "create_in_tx", "draining", "force_release", "forget_waiters", "forget_writer", "hand_over", "inspect", "leave",
			"list", "lock_in_tx", "passed", "pause", "prune", "raise_longest_ttl", "release", "release_passing", "release_shared", "released_before", "renew", "renew_shared", "reserve_for_writer", "restore_lock_timeout", "version", "wait", "withdraw",
		},
		"sqlite": {
			"acquire", "acquire_shared", "adopt_epoch", "columns", "file", "force_refused", "force_release", "forget_waiters", "forget_writer", "hand_over", "hand_over_refused", "inspect", "leave", "list", "lock_in_tx",
			"look", "look_in_tx", "look_shared", "pause", "prune", "raise_floor", "raise_longest_ttl", "release", "release_shared", "released_before", "renew", "renew_shared",
			"reserve_for_writer", "seal", "turn", "wait",
		},
	} {
		s := table.Statements(statementFiles(), dir+"/sql", `"`)
		assert.Len(t, s, len(verbs), dir)
		for _, verb := range verbs {
			assert.NotEmpty(t, s[verb], "%s/%s", dir, verb)
			assert.NotContains(t, s[verb], "rowlock_lease", "%s/%s", dir, verb)
			assert.NotContains(t, s[verb], "--", "%s/%s", dir, verb)
			assert.NotRegexp(t, regexp.MustCompile(`;\s*$`), s[verb], "%s/%s", dir, verb)
		}
	}
}
