//go:build unix

package guard

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The guard removes the folder of the socket. If the folder has a file that rowlock did not make, it stays.
func TestOnlyTheSocketIsRemoved(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "rowlock-1")
	require.NoError(t, os.Mkdir(folder, 0o700))
	socket, other := filepath.Join(folder, "s"), filepath.Join(folder, "other")
	for _, file := range []string{socket, other} {
		require.NoError(t, os.WriteFile(file, nil, 0o600))
	}
	remove(folder)
	require.NoFileExists(t, socket)
	require.FileExists(t, other)
	require.NoError(t, os.Remove(other))
	remove(folder)
	require.NoDirExists(t, folder)
	remove("")
}
