// Package faultnet puts a fault-injecting proxy between each client and its store, for the conformance suite. A
// harness of the suite embeds the type [Clients]. The harness adds two methods: one opens a client, and one makes a
// lease expire.
package faultnet

import (
	"fmt"
	"sync"
	"testing"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
)

// Clients is the set of open clients of a harness. Each client has its own proxies. Clients implements
// locktest.Closer, Counter, Crasher, Partitioner and ReplyDropper, and is safe for concurrent use.
type Clients struct {
	// AfterDrop determines what happens to a connection after one of its replies was dropped.
	AfterDrop faultproxy.AfterDrop

	mu   sync.Mutex
	open map[driver.Backend]*client
}

type client struct {
	close   func()
	proxies []*faultproxy.Proxy
}

// New makes an empty set of clients, which are closed at the end of the test.
func New(tb testing.TB) *Clients {
	c := &Clients{open: map[driver.Backend]*client{}}
	tb.Cleanup(func() {
		for b := range c.open {
			_ = c.Close(b) // returns no error, because b is a key of c.open
		}
	})
	return c
}

// Add registers a client whose connections go through the proxies. The method Close later calls the function
// closePool.
func (c *Clients) Add(b driver.Backend, closePool func(), proxies ...*faultproxy.Proxy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[b] = &client{closePool, proxies}
}

// All returns the clients that are not closed.
func (c *Clients) All() []driver.Backend {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []driver.Backend
	for b := range c.open {
		all = append(all, b)
	}
	return all
}

// Close ends a client. It closes the proxies first, because closing a pool waits for its running calls.
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
		return fmt.Errorf("%v is not a client of this harness", b)
	}
	for _, p := range known.proxies {
		do(p)
	}
	return nil
}

// Crash closes the proxies of a client for good, so the client can never reach the store again.
func (c *Clients) Crash(b driver.Backend) error { return c.Each(b, (*faultproxy.Proxy).Close) }

// Cut makes the proxies of a client drop all bytes silently.
func (c *Clients) Cut(b driver.Backend) error { return c.Each(b, (*faultproxy.Proxy).Cut) }

// Restore undoes Cut.
func (c *Clients) Restore(b driver.Backend) error { return c.Each(b, (*faultproxy.Proxy).Restore) }

// DropReply makes the proxies drop the next reply to a client.
func (c *Clients) DropReply(b driver.Backend) error {
	return c.Each(b, func(p *faultproxy.Proxy) { p.DropReplies(1, c.AfterDrop) })
}

// Requests returns how many requests a client has sent since it was opened.
func (c *Clients) Requests(b driver.Backend) (n int, err error) {
	err = c.Each(b, func(p *faultproxy.Proxy) { n += p.Requests() })
	return n, err
}
