package compat_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/locktest"
)

// network is a Postgres database with lib/pq clients. Each client has its own faulty network.
type network struct {
	dsn string
	raw *sql.DB

	mu      sync.Mutex
	clients map[driver.Backend]*client
}

type client struct {
	proxy *faultproxy.Proxy
	db    *sql.DB
}

// These are the faults that the conformance suite can cause with lib/pq. It cannot drop replies: after the context of a
// call has ended, lib/pq still waits for the reply until the connection ends (TestSilenceWithPQ).
var (
	_ locktest.Closer      = (*network)(nil)
	_ locktest.Expirer     = (*network)(nil)
	_ locktest.Crasher     = (*network)(nil)
	_ locktest.Partitioner = (*network)(nil)
)

// backend is a Backend that remembers its grants, so that the test can make it renew them.
type backend struct {
	*advisory.Backend

	mu      sync.Mutex
	granted map[driver.Key]driver.Grant
}

func (b *backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := b.Backend.Acquire(ctx, r)
	if err == nil {
		b.mu.Lock()
		b.granted[r.Key] = g
		b.mu.Unlock()
	}
	return g, err
}

func newNetwork(tb testing.TB) *network {
	tb.Helper()
	dsn := database(tb)
	n := &network{dsn: dsn, raw: open(tb, "pgx", dsn), clients: map[driver.Backend]*client{}}
	tb.Cleanup(func() {
		for b := range n.clients {
			require.NoError(tb, n.Close(b))
		}
	})
	return n
}

func (n *network) Open(context.Context) (driver.Backend, error) {
	u, err := url.Parse(n.dsn)
	if err != nil {
		return nil, err
	}
	c := new(client)
	if c.proxy, err = faultproxy.New(u.Host); err != nil {
		return nil, err
	}
	u.Host = c.proxy.Addr()
	if c.db, err = sql.Open("postgres", u.String()); err != nil {
		c.proxy.Close()
		return nil, err
	}
	b := &backend{Backend: advisory.NewDB(c.db), granted: map[driver.Key]driver.Grant{}}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clients[b] = c
	return b, nil
}

// with calls the function do with the client of b, to change the client's network.
func (n *network) with(b driver.Backend, do func(*client)) error {
	n.mu.Lock()
	c := n.clients[b]
	n.mu.Unlock()
	if c == nil {
		return fmt.Errorf("%v is not a client of this harness", b)
	}
	do(c)
	return nil
}

func (n *network) Close(b driver.Backend) error {
	return n.with(b, func(c *client) {
		n.mu.Lock()
		delete(n.clients, b)
		n.mu.Unlock()
		c.proxy.Close()
		_ = c.db.Close() // returns an error because connections are broken
	})
}

func (n *network) Crash(b driver.Backend) error {
	return n.with(b, func(c *client) { c.proxy.Close() })
}

func (n *network) Cut(b driver.Backend) error { return n.with(b, func(c *client) { c.proxy.Cut() }) }

func (n *network) Restore(b driver.Backend) error {
	return n.with(b, func(c *client) { c.proxy.Restore() })
}

// Expire ends the session of key's holder. Expire returns after the server has ended the session and a heartbeat
// of the holder has detected this. Before that, the outcome of the holder's next call would be unknown.
func (n *network) Expire(ctx context.Context, key driver.Key) error {
	if err := terminate(ctx, n.raw, advisory.Key(key.Namespace, key.Name)); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for of := range n.clients {
		b := of.(*backend)
		b.mu.Lock()
		g, found := b.granted[key]
		b.mu.Unlock()
		if found {
			_, _ = b.Renew(ctx, []driver.Grant{g})
		}
	}
	return nil
}
