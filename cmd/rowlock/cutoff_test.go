//go:build unix

package main

import (
	"bufio"
	"bytes"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// If the network to the store fails while the command runs, rowlock stops the command before the TTL has passed.
// The exit code says that the lock was lost, because another process may acquire the lock after the TTL.
func TestCutOffFromTheStoreIsLost(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB, workplace) string{
		"postgres": func(tb testing.TB, w workplace) string { return migrated(tb, w, testenv.Postgres(tb)) },
		"redis":    redisStore, "etcd": etcdStore, "zookeeper": zookeeperStore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkplace(t)
			cutOff(t, w, open(t, w))
		})
	}
}

func cutOff(t *testing.T, w workplace, direct string) {
	t.Helper()
	u, err := url.Parse(direct)
	require.NoError(t, err)
	cable := newCable(t, u.Host, nil)
	u.Host = cable.address
	grandchild, end := w.holds(t, "job", "--ttl", "15s", "--store", u.String(), "--", "sh", "-c", `sh -c 'echo $$; read _ <block' & wait`)
	cable.cut.Store(true)
	cut := time.Now()
	code, messages := end()
	require.Equal(t, 79, code, messages)
	require.Contains(t, messages, "no renewal succeeded before the deadline; the last attempt: ")
	require.Contains(t, messages, "; stopping the command")
	// The limit is the TTL, plus the time that rowlock waits for an answer to the release.
	require.Less(t, time.Since(cut), 50*time.Second)
	output, err := w.command(t, scriptTimeout, "sh", "-c", "! kill -0 "+grandchild).CombinedOutput()
	require.NoError(t, err, "the command's child is still alive: %s", output)
	output, err = w.command(t, scriptTimeout, "rowlock", "run", "job", "--wait", "40s", "--store", direct, "--", "echo", "next").CombinedOutput()
	require.NoError(t, err, "%s", output)
}

// holds runs a command under a lock, and returns when the command has written a line. The first result is that line.
// The second result is a function: it waits until the command ends, and returns its exit code and its messages. The
// folder contains a FIFO with the name "block". A command that reads from this FIFO blocks.
func (w workplace) holds(tb testing.TB, args ...string) (line string, end func() (code int, messages string)) {
	tb.Helper()
	require.NoError(tb, syscall.Mkfifo(filepath.Join(w.dir, "block"), 0o600))
	cmd := w.command(tb, scriptTimeout, "rowlock", append([]string{"run"}, args...)...)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	stdout, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	end = func() (int, string) {
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode(), messages.String()
	}
	line, err = bufio.NewReader(stdout).ReadString('\n')
	if err != nil { // the command has ended without writing a line
		code, messages := end()
		require.FailNow(tb, "the command was not run", "%d: %s", code, messages)
	}
	return strings.TrimSpace(line), end
}

// cable is a network connection to a server that a test can cut. After the cut no bytes arrive, and neither side gets
// an error.
type cable struct {
	address string
	cut     atomic.Bool
	breaks  func(request []byte) bool // reports whether the cable breaks at this request; the request is still delivered, but gets no answer
	broken  atomic.Bool               // if true, all bytes sent from now on are lost
}

func newCable(tb testing.TB, server string, breaks func([]byte) bool) *cable {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	return newCableBehind(tb, listener, server, breaks)
}

func newCableBehind(tb testing.TB, listener net.Listener, server string, breaks func([]byte) bool) *cable {
	tb.Helper()
	c := &cable{address: listener.Addr().String(), breaks: breaks}
	var running sync.WaitGroup
	var mu sync.Mutex
	var ends []net.Conn
	keep := func(conn net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		ends = append(ends, conn)
	}
	running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			keep(near)
			if c.broken.Load() {
				_ = near.Close()
			}
			if c.cut.Load() {
				continue
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				continue
			}
			keep(far)
			running.Go(func() { c.carry(near, far, c.breaks) })
			running.Go(func() { c.carry(far, near, nil) })
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, end := range ends {
			_ = end.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return c
}

func (c *cable) carry(from, to net.Conn, breaks func([]byte) bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if c.broken.Load() {
			_ = to.Close()
			_ = from.Close()
			return
		}
		if breaks != nil && breaks(buffer[:n]) {
			c.broken.Store(true)
		}
		if !c.cut.Load() {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
	}
}
