package cli

import (
	"database/sql"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/system"
)

// hangLimit is how long rowlock may take with a store that hangs. The limits of this test add up to a few seconds. The
// rest is for a slow machine, because all cases run at the same time.
const hangLimit = 45 * time.Second

// If a server accepts connections and never replies, every subcommand reports an unavailable store within its time
// limits. rowlock does not start the command that needs the lock, and prints no password. This test shortens the limits.
// TestCompatServerThatHangsIsUnavailable in cmd/rowlock shows the same for processes, with the limits of production.
func TestServerThatHangsIsUnavailable(t *testing.T) {
	shorten(t)
	address := silentServer(t)
	never := filepath.Join(t.TempDir(), "never")
	var cases sync.WaitGroup
	for _, at := range []string{
		"postgres://user:secret@" + address + "/db?sslmode=disable",
		"mysql://user:secret@" + address + "/db",
		"user:secret@tcp(" + address + ")/db",
		"postgres-advisory://user:secret@" + address + "/db?sslmode=disable",
		"mysql-getlock://user:secret@" + address + "/db",
		"redis://user:secret@" + address,
		"redis+cluster://user:secret@" + address,
		"etcd://user:secret@" + address,
		"redlock://user:secret@" + address + ",127.0.0.1:1,127.0.0.1:2",
		"etcd://" + address,
		"zk://user:secret@" + address,
	} {
		withTables := !strings.HasPrefix(at, "redis") && !strings.HasPrefix(at, "redlock") && !strings.HasPrefix(at, "etcd") && !strings.HasPrefix(at, "zk")
		for _, args := range [][]string{
			{"run", "job", "--ttl", "5s", "--", "touch", never},
			{"run", "job", "--ttl", "5s", "--wait", "2s", "--", "touch", never},
			{"run", "job", "--ttl", "5s", "--wait", "inf", "--", "touch", never},
			{"ls"},
			{"status", "job"},
			{"release", "job", "--token", "1"},
			{"migrate", "up"},
		} {
			if args[0] == "migrate" && !withTables {
				// These stores have no tables, so migrate is a usage error. The script keyvalue_usage tests that error.
				continue
			}
			cases.Go(func() { unavailable(t, append([]string{"--store", at}, args...)) })
		}
	}
	for _, at := range []string{"postgres://user:secret@" + address + "/db", "mysql://user:secret@" + address + "/db", "redis://user:secret@" + address} {
		cases.Go(func() { unavailable(t, []string{"doctor", "--store", at}) })
	}
	cases.Wait()
	require.NoFileExists(t, never)
}

// If another program has locked the SQLite file, rowlock reports an unavailable store within its time limits.
// TestCompatLockedFileIsUnavailable in cmd/rowlock shows the same for a process, with the limits of production.
func TestLockedFileIsUnavailable(t *testing.T) {
	shorten(t)
	folder := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(folder, "locks.db"))
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
	require.NoError(t, err)
	never := filepath.Join(folder, "never")
	unavailable(t, []string{"run", "job", "--ttl", "5s", "--store", "sqlite:" + filepath.Join(folder, "locks.db"), "--", "touch", never})
	require.NoFileExists(t, never)
}

// shorten shortens the time limits of the package until the test ends. The test must not run in parallel.
func shorten(t *testing.T) {
	t.Helper()
	before, connect := limits, store.ConnectTimeout
	t.Cleanup(func() { limits, store.ConnectTimeout = before, connect })
	limits.inspect, store.ConnectTimeout = time.Second, time.Second
}

// unavailable checks that rowlock exits with code 69 within hangLimit, and prints no password. The function may run in
// any goroutine. So if a check fails, unavailable marks the test as failed, and does not end the test.
func unavailable(t *testing.T, args []string) {
	output, err := os.CreateTemp(t.TempDir(), "output")
	if !assert.NoError(t, err) {
		return
	}
	defer output.Close()
	in, err := os.Open(os.DevNull)
	if !assert.NoError(t, err) {
		return
	}
	defer in.Close()
	start := time.Now()
	code := Main(t.Context(), args, system.Stdio{In: in, Out: output, Err: output})
	took := time.Since(start)
	text, err := os.ReadFile(output.Name())
	assert.NoError(t, err)
	assert.Equal(t, exit.Unavailable, code, "rowlock %v, after %s:\n%s", args, took, text)
	assert.Less(t, took, hangLimit, "rowlock %v", args)
	assert.NotContains(t, string(text), "secret")
}

// silentServer returns the address of a server that accepts connections and never replies. The server closes when the
// test ends.
func silentServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var conns []net.Conn
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			conns = append(conns, c)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
		for _, c := range conns {
			_ = c.Close()
		}
	})
	return listener.Addr().String()
}
