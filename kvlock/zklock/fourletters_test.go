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

	"github.com/rowlock/rowlock/internal/testserver"
)

// alone starts a server for one test, which reads the server's counters or changes the whole server.
func alone(tb testing.TB, args ...string) *testserver.Server {
	tb.Helper()
	server(tb)
	s, err := testserver.Start(tb.Context(), testserver.ZooKeeper, testserver.Options{Args: args, Logf: tb.Logf})
	require.NoError(tb, err)
	tb.Cleanup(s.Stop)
	return s
}

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
