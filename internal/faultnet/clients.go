// Package faultnet gives each client of a store a misbehaving network of its own, for the conformance
// suite: a harness that embeds [Clients] brings the opening of a client and the expiry of a lease.
package faultnet

import (
	"fmt"
	"sync"
	"testing"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
)

// Clients implements locktest.Closer, Crasher, Partitioner and ReplyDropper. It is safe for concurrent
// use.
type Clients struct {
	// Fate is what becomes of the connection of a reply that is dropped.
	Fate faultproxy.Fate

	mu   sync.Mutex
	open map[driver.Backend]*client
}

type client struct {
	close   func()
	proxies []*faultproxy.Proxy
}

// New has the clients closed when the test is over.
func New(tb testing.TB) *Clients {
	c := &Clients{open: map[driver.Backend]*client{}}
	tb.Cleanup(func() {
		for b := range c.open {
			_ = c.Close(b) // it is known
		}
	})
	return c
}

// Add takes on a client whose connections go through the proxies, and that closePool ends.
func (c *Clients) Add(b driver.Backend, closePool func(), proxies ...*faultproxy.Proxy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[b] = &client{closePool, proxies}
}

// All is every client that is not closed.
func (c *Clients) All() []driver.Backend {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []driver.Backend
	for b := range c.open {
		all = append(all, b)
	}
	return all
}

// Close ends a client, its network first: closing a pool waits for what is under way.
func (c *Clients) Close(b driver.Backend) error {
	if err := c.Each(b, (*faultproxy.Proxy).Close); err != nil {
		return err
	}
	c.mu.Lock()
	closePool := c.open[b].close
	delete(c.open, b)
	c.mu.Unlock()
	closePool()
	return nil
}

func (c *Clients) Each(b driver.Backend, do func(*faultproxy.Proxy)) error {
	c.mu.Lock()
	known := c.open[b]
	c.mu.Unlock()
	if known == nil {
		return fmt.Errorf("%v is no client of this harness", b)
	}
	for _, p := range known.proxies {
		do(p)
	}
	return nil
}

// Crash ends the network of a client for good.
func (c *Clients) Crash(b driver.Backend) error { return c.Each(b, (*faultproxy.Proxy).Close) }

// Cut makes it a black hole.
func (c *Clients) Cut(b driver.Backend) error { return c.Each(b, (*faultproxy.Proxy).Cut) }

// Restore ends that.
func (c *Clients) Restore(b driver.Backend) error { return c.Each(b, (*faultproxy.Proxy).Restore) }

// DropReply lets the next reply to a client be lost.
func (c *Clients) DropReply(b driver.Backend) error {
	return c.Each(b, func(p *faultproxy.Proxy) { p.DropReplies(1, c.Fate) })
}
