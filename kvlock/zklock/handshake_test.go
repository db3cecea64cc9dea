package zklock_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/kvlock/zklock"
)

// slow is a connection on which the answer to the handshake arrives late.
type slow struct {
	net.Conn

	handshaken bool
}

func (s *slow) Read(p []byte) (int, error) {
	if !s.handshaken {
		s.handshaken = true
		time.Sleep(700 * time.Millisecond) // this is longer than the first handshake limit
	}
	return s.Conn.Read(p)
}

// If all servers take longer for the handshake than the first limit, the limit grows until a handshake succeeds.
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
