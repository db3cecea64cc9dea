package zklock_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/kvlock/zklock"
)

// slow is a connection whose server takes its time to greet.
type slow struct {
	net.Conn

	greeted bool
}

func (s *slow) Read(p []byte) (int, error) {
	if !s.greeted {
		s.greeted = true
		time.Sleep(700 * time.Millisecond) // the time is what this is about
	}
	return s.Conn.Read(p)
}

// Servers that take longer to make a session than they are given at first are given more time.
func TestServersThatAreSlowToGreetAreReached(t *testing.T) {
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
