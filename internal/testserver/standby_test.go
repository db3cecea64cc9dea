package testserver

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// A standby has the data of its primary, and can be promoted.
func TestStandby(t *testing.T) {
	t.Parallel()
	testenv.DSN(t, Postgres) // skips the test if testservers could not start this server
	primary, err := Start(t.Context(), Postgres, Options{Logf: t.Logf})
	require.NoError(t, err)
	t.Cleanup(primary.Stop)
	standby, err := Start(t.Context(), Postgres, Options{Primary: primary.Addr, Logf: t.Logf})
	require.NoError(t, err)
	t.Cleanup(standby.Stop)
	_, err = queryPostgres(t.Context(), primary.DSN, "CREATE TABLE t AS SELECT 'written' AS v")
	require.True(t, err == nil || strings.Contains(err.Error(), "no rows"), "%v", err)
	require.Eventually(t, func() bool {
		v, err := queryPostgres(t.Context(), standby.DSN, "SELECT v FROM t")
		return err == nil && v == "written"
	}, time.Minute, 10*time.Millisecond)
	primary.Kill()
	promoted, err := queryPostgres(t.Context(), standby.DSN, "SELECT pg_promote()::text")
	require.NoError(t, err)
	assert.Equal(t, "true", promoted)
	assert.True(t, standby.Running())
	assert.False(t, primary.Running())
}

// After Fill, the file system accepts no more data. After Free, it accepts data again.
func TestDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	d, err := NewDisk(path, 1<<20)
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		require.ErrorContains(t, err, "root")
		return
	}
	require.NoError(t, err)
	t.Cleanup(d.Remove)
	file := filepath.Join(path, "file")
	require.NoError(t, d.Fill())
	err = os.WriteFile(file, []byte("x"), 0o644)
	require.True(t, errors.Is(err, syscall.ENOSPC), "%v", err)
	require.NoError(t, d.Free())
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o644))
}
