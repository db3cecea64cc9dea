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

// A server that has heard a request to cancel is left neither when its client leaves nor when the connections are reset,
// also in that very moment; the client stays until the server has ended it.
func TestACancelIsLetFinish(t *testing.T) {
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
		require.ErrorAs(t, err, &timeout, "it was left")
		require.True(t, timeout.Timeout())
	}

	t.Run("the server ends it", func(t *testing.T) {
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
			stays(t, server, time.Millisecond) // what a reset sends is there when it returns
			_, err := receive(t, client, patience)
			require.Error(t, err)
			server.Close()
		}
	})
}
