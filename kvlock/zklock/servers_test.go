package zklock_test

import (
	"context"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/testserver"
)

// private is a server of this package, for tests that read the server's counters or need its settings. These tests are not
// parallel, so only one of them uses the server at a time. The first of them starts it.
type private struct {
	config string // additional lines of the configuration
	args   []string

	started *testserver.Server
}

var (
	// clearing removes a lock's node soon after the lock is free.
	clearing = private{args: []string{"-Dznode.container.checkIntervalMs=50"}}
	// patient removes no lock's node, and its session timeouts are so long that a slow machine exceeds none.
	patient = private{config: "tickTime=10000\n", args: []string{"-Dznode.container.checkIntervalMs=600000"}}
)

// alone returns the server, when all connections of the test before are closed.
func (p *private) alone(tb testing.TB) *testserver.Server {
	tb.Helper()
	server(tb) // skips the test if the launcher could not start a server
	if p.started == nil {
		s, err := testserver.Start(context.Background(), testserver.ZooKeeper, testserver.Options{Config: p.config, Args: p.args})
		require.NoError(tb, err)
		p.started = s
	}
	require.Eventually(tb, func() bool { return connections(tb, p.started.Addr) == 0 }, time.Minute, time.Millisecond)
	return p.started
}

func (p *private) stop() {
	if p.started != nil {
		p.started.Stop()
	}
}

type main struct{ *testing.M }

// Run runs the tests and stops the servers of the package, before leaks.Main looks for leaked goroutines.
func (m main) Run() int {
	defer clearing.stop()
	defer patient.stop()
	return m.M.Run()
}

func TestMain(m *testing.M) { leaks.Main(main{m}) }

// fourLetters sends a four-letter command, such as "srvr", to a server and returns the server's answer.
func fourLetters(tb testing.TB, addr, command string) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	require.NoError(tb, err)
	defer conn.Close()
	_, err = io.WriteString(conn, command)
	require.NoError(tb, err)
	text, err := io.ReadAll(conn)
	require.NoError(tb, err)
	require.NotContains(tb, string(text), "whitelist", "the server must have 4lw.commands.whitelist=*")
	return string(text)
}

// watches returns how many watches all clients have on a path and below it.
func watches(tb testing.TB, addr, path string) (n int) {
	tb.Helper()
	below := false
	for line := range strings.Lines(fourLetters(tb, addr, "wchp")) { // each path is followed by its watchers
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "/") {
			below = strings.HasPrefix(line+"/", path+"/")
		} else if below && strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

// number reads a number from a server's answer to a four-letter command.
func number(tb testing.TB, addr, command, pattern string) int64 {
	tb.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(fourLetters(tb, addr, command))
	require.NotNil(tb, found, pattern)
	n, err := strconv.ParseInt(found[1], 0, 64)
	require.NoError(tb, err)
	return n
}

// commits returns the id of a server's last transaction. The difference of two ids is the number of commits between
// them.
func commits(tb testing.TB, addr string) int64 {
	tb.Helper()
	return number(tb, addr, "srvr", `Zxid: (0x[0-9a-f]+)`)
}

// received returns how many packets the servers have received from all clients.
func received(tb testing.TB, n *network) (all int64) {
	tb.Helper()
	for _, s := range n.servers {
		all += number(tb, s, "srvr", `Received: (\d+)`)
	}
	return all
}

// connections returns how many sessions are connected to a server.
func connections(tb testing.TB, addr string) int {
	tb.Helper()
	return strings.Count(fourLetters(tb, addr, "cons"), ",to=")
}
