package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// On Linux the command is killed even if rowlock and its guard process are killed at the same time.
func TestKilledWithItsGuard(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	alive, started := filepath.Join(w.dir, "alive"), filepath.Join(w.dir, "started")
	require.NoError(t, syscall.Mkfifo(alive, 0o600))
	require.NoError(t, syscall.Mkfifo(started, 0o600))
	cmd := w.command(t, scriptTimeout, "rowlock", "run", "job", "--store", "sqlite:locks.db", "--", "sh", "-c", "exec 9>alive; echo >started; read _ <started; read _ <started")
	require.NoError(t, cmd.Start())
	reader, err := os.Open(alive) // os.Open returns after the command has opened the FIFO
	require.NoError(t, err)
	defer reader.Close()
	_, err = os.ReadFile(started)
	require.NoError(t, err)

	require.NoError(t, syscall.Kill(guardOf(t, cmd.Process.Pid), syscall.SIGKILL))
	require.NoError(t, syscall.Kill(cmd.Process.Pid, syscall.SIGKILL))
	_ = cmd.Wait()
	_, err = io.ReadAll(reader) // ReadAll returns after the command has ended
	require.NoError(t, err)
}

// If rowlock is killed, its guard removes the folder of the socket for the processes that inherit the lease.
func TestAKilledRunLeavesNoFolder(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	temporary := t.TempDir()
	w.env = append(w.env, "TMPDIR="+temporary)
	started := filepath.Join(w.dir, "started")
	require.NoError(t, syscall.Mkfifo(started, 0o600))
	cmd := w.command(t, scriptTimeout, "rowlock", "run", "job", "--store", "sqlite:locks.db", "--", "sh", "-c", "echo >started; sleep 301")
	require.NoError(t, cmd.Start())
	_, err := os.ReadFile(started) // returns after the command has started
	require.NoError(t, err)
	folders := func() []string {
		all, err := filepath.Glob(filepath.Join(temporary, "rowlock-*"))
		require.NoError(t, err)
		return all
	}
	require.Len(t, folders(), 1)

	require.NoError(t, syscall.Kill(cmd.Process.Pid, syscall.SIGKILL))
	_ = cmd.Wait()
	require.Eventually(t, func() bool { return len(folders()) == 0 }, time.Minute, 10*time.Millisecond)
}

// The guard runs before the clients of the stores are initialized. Otherwise its start would take twice as long.
func TestTheGuardStartsBeforeTheClients(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	w.env = append(w.env, "GODEBUG=inittrace=1")
	cmd := w.command(t, scriptTimeout, "rowlock", "__guard")
	initialized, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", initialized)
	require.Contains(t, string(initialized), "\ninit os @")
	for _, later := range []string{"encoding/json", "database/sql", "google.golang.org/protobuf", "go.etcd.io", "modernc.org"} {
		require.NotContains(t, string(initialized), "\ninit "+later)
	}
}

// guardOf returns the process id of the guard, which is a child process of parent.
func guardOf(t *testing.T, parent int) int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, stat := range stats {
		text, _ := os.ReadFile(stat)
		words, _ := os.ReadFile(filepath.Join(filepath.Dir(stat), "cmdline"))
		var pid, of int
		var state string
		_, rest, _ := strings.Cut(string(text), ") ")
		_, _ = fmt.Sscan(rest, &state, &of)
		_, _ = fmt.Sscan(string(text), &pid)
		if of == parent && strings.Contains(string(words), "__guard") {
			return pid
		}
	}
	require.Fail(t, "rowlock has no guard")
	return 0
}
