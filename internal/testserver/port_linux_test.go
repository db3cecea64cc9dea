package testserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that is down between Kill and Restart gets its port again, because the kernel assigns the port to no other
// process meanwhile. All packages of the tests request ports and open connections all the time.
func TestPortIsKeptForAServerThatIsDown(t *testing.T) {
	f, err := newFolder(Redis, false)
	require.NoError(t, err)
	defer f.remove()
	port, err := f.freePort()
	require.NoError(t, err)
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	elsewhere, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer elsewhere.Close()

	set := func(level, option, value int) func(_, _ string, c syscall.RawConn) error {
		return func(_, _ string, c syscall.RawConn) (err error) {
			controlErr := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), level, option, value) })
			require.NoError(t, controlErr)
			return err
		}
	}
	const ipLocalPortRange = 51                                          // linux/in.h, since 6.3
	onlyPort := set(syscall.IPPROTO_IP, ipLocalPortRange, port|port<<16) // a process that requests any free port must not get this port
	listen := net.ListenConfig{Control: onlyPort}
	stranger := net.ListenConfig{Control: set(syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0)}
	_, err = listen.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	limits := !errors.Is(err, syscall.ENOPROTOOPT)
	if !limits {
		t.Log("this kernel cannot be limited to one port, so only who asks for just this one is refused here")
	}
	for range 2 {
		_, err = stranger.Listen(t.Context(), "tcp4", addr)
		require.ErrorIs(t, err, syscall.EADDRINUSE)
		if limits {
			_, err = listen.Listen(t.Context(), "tcp4", "127.0.0.1:0")
			require.ErrorIs(t, err, syscall.EADDRINUSE)
			_, err = listen.Listen(t.Context(), "tcp4", "0.0.0.0:0")
			require.ErrorIs(t, err, syscall.EADDRINUSE)
			dial := net.Dialer{Control: onlyPort, Timeout: time.Second}
			_, err = dial.DialContext(context.Background(), "tcp4", elsewhere.Addr().String())
			require.ErrorIs(t, err, syscall.EADDRNOTAVAIL)
		}

		_, err = net.Dial("tcp4", addr)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		server, err := net.Listen("tcp4", addr) // listens with SO_REUSEADDR, as all servers do
		require.NoError(t, err)
		server.Close()
	}

	f.remove()
	l, err := stranger.Listen(t.Context(), "tcp4", addr)
	require.NoError(t, err)
	l.Close()
	if limits {
		l, err = listen.Listen(t.Context(), "tcp4", "127.0.0.1:0")
		require.NoError(t, err)
		l.Close()
	}
}
