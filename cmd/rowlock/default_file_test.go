//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// At its end rowlock leaves SQLite's log of the default file behind. Promise: the next run reads the log, so its token
// is larger, and the log stays short.
func TestTheLogOfTheDefaultFile(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	last := int64(0)
	for range 30 {
		output, err := w.command(t, scriptTimeout, "rowlock", "run", "job", "--store", "local", "--", "sh", "-c", "echo $ROWLOCK_TOKEN").Output()
		require.NoError(t, err)
		token, err := strconv.ParseInt(strings.TrimSpace(string(output)), 10, 64)
		require.NoError(t, err)
		require.Greater(t, token, last)
		last = token
		log, err := os.Stat(filepath.Join(w.dir, "state", "rowlock", "locks.db-wal"))
		require.NoError(t, err)
		require.Less(t, log.Size(), int64(1<<20))
	}
	output, err := w.command(t, scriptTimeout, "rowlock", "history", "job", "--store", "local", "--limit", "30").Output()
	require.NoError(t, err)
	require.Equal(t, 30, strings.Count(string(output), "exited"), "%s", output)
}
