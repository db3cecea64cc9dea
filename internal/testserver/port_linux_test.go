package testserver

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that is down between Kill and Restart finds its port again, because the kernel gives it to nobody meanwhile: every package
// of the tests asks for ports, and makes connections, all the time.
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

	onlyPort := func(_, _ string, c syscall.RawConn) (err error) { // whoever asks the kernel for any port gets this one or none
		const ipLocalPortRange = 51 // linux/in.h, since 6.3
		controlErr := c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, ipLocalPortRange, port|port<<16)
		})
		require.NoError(t, controlErr)
		return err
	}
	for range 2 {
		listen := net.ListenConfig{Control: onlyPort}
		_, err = listen.Listen(t.Context(), "tcp4", "127.0.0.1:0")
		require.ErrorIs(t, err, syscall.EADDRINUSE)
		_, err = listen.Listen(t.Context(), "tcp4", "0.0.0.0:0")
		require.ErrorIs(t, err, syscall.EADDRINUSE)
		dial := net.Dialer{Control: onlyPort, Timeout: time.Second}
		_, err = dial.DialContext(context.Background(), "tcp4", elsewhere.Addr().String())
		require.ErrorIs(t, err, syscall.EADDRNOTAVAIL)

		_, err = net.Dial("tcp4", addr)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		server, err := net.Listen("tcp4", addr) // with SO_REUSEADDR, as all servers
		require.NoError(t, err)
		server.Close()
	}

	f.remove()
	l, err := (&net.ListenConfig{Control: onlyPort}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	l.Close()
}
