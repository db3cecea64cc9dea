package testserver

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// A server of each engine can be killed, restarted and stopped. This test does not check that the servers answer
// queries, because all other tests depend on that.
func TestServerLife(t *testing.T) {
	lives(t, Postgres, MySQL, MariaDB, Redis, Etcd, ZooKeeper)
}

// The servers that only "make compat" needs are started, killed, restarted and stopped in the same way.
func TestCompatServerLife(t *testing.T) {
	lives(t, PgBouncer, NewPgBouncer, Valkey)
}

func lives(t *testing.T, engines ...string) {
	t.Helper()
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			if engine == PgBouncer || engine == NewPgBouncer || engine == Valkey {
				testenv.Compat(t)
			}
			t.Parallel()
			testenv.DSN(t, engine) // skips the test if testservers could not start this server
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s, err := Start(ctx, engine, Options{Postgres: os.Getenv(Variable(Postgres)), Logf: t.Logf})
			require.NoError(t, err)
			defer s.Stop()
			answers := func() bool {
				conn, err := net.DialTimeout("tcp", s.Addr, time.Second)
				if err == nil {
					conn.Close()
				}
				return err == nil
			}
			silent := func() bool { return !answers() }
			require.True(t, answers())

			first := s.PID
			require.NoError(t, s.Ended())
			s.Kill()
			require.ErrorContains(t, s.Ended(), "killed")
			require.Eventually(t, silent, time.Minute, time.Millisecond, "a process that Postgres forks for a connection has the port for a moment yet")
			require.NoError(t, s.Restart(ctx))
			require.NotEqual(t, first, s.PID)
			require.True(t, answers())

			s.Stop()
			s.Stop()
			require.Eventually(t, silent, time.Minute, time.Millisecond)
			require.NoDirExists(t, s.Folder)
		})
	}
}

func TestPortTakenByAnother(t *testing.T) {
	testenv.DSN(t, Postgres)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	f, err := newFolder(Postgres, false)
	require.NoError(t, err)
	defer f.remove()
	e := &postgres{}
	require.NoError(t, e.provide(t.Context(), Options{}))
	require.NoError(t, e.prepare(t.Context(), f, Options{}))

	_, err = runUntilReady(t.Context(), e, f, l.Addr().(*net.TCPAddr).Port, Options{})
	require.ErrorIs(t, err, errDied)
	require.Contains(t, failure(Postgres, "start", err, f).Error(), "in use") // the text from the server's log
}

func TestFailuresSayWhatToDo(t *testing.T) {
	err := failure(MySQL, "find or install", &missing{program: "MySQL", remedy: "install MySQL 8 or newer"}, nil)
	require.EqualError(t, err, "mysql: no MySQL on this machine; install MySQL 8 or newer, or set ROWLOCK_TEST_MYSQL to the DSN of a server for tests")

	f := &folder{path: t.TempDir()}
	require.NoError(t, os.WriteFile(f.log(), []byte("first\n"+strings.Repeat("more\n", 20)+"the reason\n"), 0o600))
	text := failure(Postgres, "start", errors.New("exit status 1"), f).Error()
	require.Contains(t, text, "postgres: start: exit status 1; or set ROWLOCK_TEST_POSTGRES")
	require.Contains(t, text, "the reason")
	require.NotContains(t, text, "first")
}

func TestSweepRemovesOnlyTheFoldersOfTheDead(t *testing.T) {
	parent := t.TempDir()
	old := time.Now().Add(-time.Hour)
	ownerOf := func(name string) *os.File {
		folder := filepath.Join(parent, folderPrefix+name)
		require.NoError(t, os.Mkdir(folder, 0o755))
		owner, err := os.Create(filepath.Join(folder, "owner"))
		require.NoError(t, err)
		require.NoError(t, os.Chtimes(owner.Name(), old, old))
		return owner
	}
	living := ownerOf("living")
	require.NoError(t, lock(living, false))
	defer living.Close()
	ownerOf("dead").Close()
	require.NoError(t, os.Mkdir(filepath.Join(parent, "somebody-elses"), 0o755))

	sweep(parent)
	require.DirExists(t, filepath.Dir(living.Name()))
	require.NoDirExists(t, filepath.Join(parent, folderPrefix+"dead"))
	require.DirExists(t, filepath.Join(parent, "somebody-elses"))
}

func TestAFolderIsDeletedWithItsFiles(t *testing.T) {
	path, remove, err := NewFolder("files")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(path, "data.db"), nil, 0o600))
	remove()
	require.NoDirExists(t, filepath.Dir(path))
}
