package faultproxy_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/faultproxy"
)

var cancelRequest = []byte{0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 1, 0, 0, 0, 2}

// After a cancel request, the proxy keeps the connection to the server open until the server closes it. The proxy does
// this even if the client disconnects, or if Reset is called, at the same time.
func TestARequestToCancelIsDelivered(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	p, err := faultproxy.New(l.Addr().String())
	require.NoError(t, err)
	defer p.Close()
	cancel := func(t *testing.T) (client, server net.Conn) {
		client = dial(t, p)
		server, err := l.Accept()
		require.NoError(t, err)
		_, err = client.Write(cancelRequest)
		require.NoError(t, err)
		got := make([]byte, len(cancelRequest))
		_, err = io.ReadFull(server, got)
		require.NoError(t, err)
		require.Equal(t, cancelRequest, got)
		return client, server
	}
	stays := func(t *testing.T, conn net.Conn, within time.Duration) {
		t.Helper()
		_, err := receive(t, conn, within)
		var timeout net.Error
		require.ErrorAs(t, err, &timeout, "the proxy closed the connection to the server")
		require.True(t, timeout.Timeout())
	}

	t.Run("the server closes the connection", func(t *testing.T) {
		client, server := cancel(t)
		stays(t, client, silence)
		server.Close()
		_, err := receive(t, client, patience)
		assert.ErrorIs(t, err, io.EOF)
	})
	t.Run("the client leaves", func(t *testing.T) {
		client, server := cancel(t)
		client.Close()
		stays(t, server, silence)
		server.Close()
	})
	t.Run("reset", func(t *testing.T) {
		for range 1000 {
			client, server := cancel(t)
			p.Reset()
			stays(t, server, time.Millisecond) // when Reset returns, the server has received everything that Reset sends
			_, err := receive(t, client, patience)
			require.Error(t, err)
			server.Close()
		}
	})
}
