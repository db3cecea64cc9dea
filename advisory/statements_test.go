package advisory

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/sessionlock"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// Each SQL file begins with a comment that states its parameters, result and promise. Each verb that the code uses
// has a file, and the code uses each file.
func TestStatementsSayWhatTheyPromise(t *testing.T) {
	verbs := []string{
		"find_trace", "holders", "leave_trace", "lock", "lock_only", "lock_shared", "owned", "reserve", "start",
		"terminate", "tx_lock", "tx_lock_shared", "unlock", "unlock_shared", "unreserve", "version",
		"wait", "wait_only", "wait_shared",
	}
	table, err := sqltable.Parse("ops.jobs")
	require.NoError(t, err)
	s := load(table)
	assert.Len(t, s, len(verbs))
	for _, verb := range verbs {
		text, err := fs.ReadFile(sqlFiles, "sql/"+verb+".sql")
		require.NoError(t, err)
		for i, word := range []string{"-- Parameters: ", "-- Result: ", "-- Promise: "} {
			assert.True(t, strings.HasPrefix(strings.Split(string(text), "\n")[i], word), verb)
		}
		assert.NotEmpty(t, s[verb], verb)
		assert.NotContains(t, s[verb], "rowlock_lease", verb)
	}
	for _, o := range []options{{}, {Options: sessionlock.Options{NoToken: true}}} {
		for _, shared := range []bool{false, true} {
			assert.Contains(t, s, o.verb("lock", shared))
			assert.Contains(t, s, o.verb("wait", shared))
			assert.Contains(t, s, unlockVerb(shared))
		}
	}
}
