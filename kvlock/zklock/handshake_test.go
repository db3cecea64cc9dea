package zklock_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/kvlock/zklock"
)

// slow is a connection whose server is slow to answer the handshake.
type slow struct {
	net.Conn

	handshaken bool
}

func (s *slow) Read(p []byte) (int, error) {
	if !s.handshaken {
		s.handshaken = true
		time.Sleep(700 * time.Millisecond) // this delay is what the test examines
	}
	return s.Conn.Read(p)
}

// Servers that take longer to make a session than the first limit get more time.
func TestServersWithASlowHandshakeAreReached(t *testing.T) {
	t.Parallel()
	b := open(t, []string{server(t)}, root(), zklock.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return &slow{Conn: conn}, err
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r := request("a")
	r.TTL = time.Second
	_, err := b.Acquire(ctx, r)
	require.NoError(t, err)
}
