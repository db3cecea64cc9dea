package sqllock_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// If the database file of a holder is replaced by another file, the holder loses its leases with the next renewal,
// and is granted no lock. The reason is that programs that open the new file do not see the holder's rows. Programs
// that have opened the new file are not affected.
func TestSQLiteFileThatWasReplacedUnderAHolder(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE"} {
		t.Run(mode, func(t *testing.T) {
			s := sqliteTestWith(t, mode)
			path := strings.TrimPrefix(fileOf(t, s), "file:")
			_, err := s.raw.ExecContext(t.Context(), "VACUUM INTO ?", path+".backup")
			require.NoError(t, err)

			before := s.open()
			lost := acquire(t, before, request("job"))
			require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, before, lost))
			for _, old := range []string{path + "-wal", path + "-shm"} {
				if err := os.Remove(old); !errors.Is(err, fs.ErrNotExist) {
					require.NoError(t, err)
				}
			}
			require.NoError(t, os.Rename(path+".backup", path))

			after := s.open()
			held := acquire(t, after, request("job"))
			require.Equal(t, []driver.Outcome{driver.Lost}, renew(t, before, lost))
			require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, after, held))
			_, err = before.Acquire(t.Context(), request("another"))
			require.ErrorContains(t, err, path+" was replaced")
			assert.True(t, driver.IsPermanent(err), "%v", err)
			require.NoError(t, after.Release(t.Context(), held))
		})
	}
}

// If the file is missing for a moment, no lease is lost. A renewal fails with an unknown outcome, and is retried.
func TestSQLiteFileThatIsAwayForAMoment(t *testing.T) {
	s := sqliteTestWith(t, "DELETE")
	path := strings.TrimPrefix(fileOf(t, s), "file:")
	b := s.open()
	g := acquire(t, b, request("job"))
	require.NoError(t, os.Rename(path, path+".away"))
	_, err := b.Renew(t.Context(), []driver.Grant{g})
	require.Error(t, err)
	assert.False(t, driver.IsPermanent(err), "%v", err)
	require.NoError(t, os.Rename(path+".away", path))
	require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, b, g))
}
