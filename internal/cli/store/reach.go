package store

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/oneline"
)

// reach connects to all servers, and returns nil as soon as a server accepts the connection. If no server does, it
// returns the errors of all servers. Some client libraries wait until ctx ends if no server is reachable, and do not
// report the reason. So the command calls reach before it uses such a client.
func (at Location) reach(ctx context.Context, secure *tls.Config) error {
	servers := at.KeyValue.Servers
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	answers := make(chan error, len(servers))
	for _, server := range servers {
		go func() {
			conn, err := Dial(ctx, server, secure)
			if err == nil {
				_ = conn.Close()
			} else {
				err = fmt.Errorf("%s: %w", server, err)
			}
			answers <- err
		}()
	}
	var failed []error
	for range servers {
		err := <-answers
		if err == nil {
			return nil
		}
		failed = append(failed, err)
	}
	return exit.Failf(exit.Unavailable, "connect to %s: %w", at.Shown, oneline.Join(failed...))
}

// Dial connects to server, which has the form HOST:PORT. If secure is nil, it does not use TLS.
func Dial(ctx context.Context, server string, secure *tls.Config) (net.Conn, error) {
	if secure == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", server)
	}
	return (&tls.Dialer{Config: secure}).DialContext(ctx, "tcp", server)
}
