//go:build unix && !aix && !solaris

package main

import (
	"context"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// harness opens clients of the store in a folder, and causes the faults that the suite cannot cause itself.
type harness struct{ folder string }

// Open implements [locktest.Harness].
func (h harness) Open(context.Context) (driver.Backend, error) {
	return &client{Store: New(h.folder)}, nil
}

// Close implements [locktest.Closer]. A client has no open files or connections.
func (h harness) Close(driver.Backend) error { return nil }

// Expire implements [locktest.Expirer].
func (h harness) Expire(ctx context.Context, key driver.Key) error {
	return New(h.folder).change(ctx, key, func(l *row, now time.Time) error {
		left := l.Expires.Sub(now)
		l.Expires, l.Free = now, l.Free.Add(-left)
		return nil
	})
}

// Cut implements [locktest.Partitioner].
func (h harness) Cut(b driver.Backend) error { return b.(*client).set(true, false) }

// Restore implements [locktest.Partitioner].
func (h harness) Restore(b driver.Backend) error { return b.(*client).set(false, false) }

// Crash implements [locktest.Crasher].
func (h harness) Crash(b driver.Backend) error { return h.Cut(b) }

// DropReply implements [locktest.ReplyDropper].
func (h harness) DropReply(b driver.Backend) error { return b.(*client).set(false, true) }

// client stands for one process. It sends requests to the store, and can lose requests and replies.
type client struct {
	*Store
	mu       sync.Mutex
	cut      bool // all requests and replies are lost
	dropNext bool // true if the next reply is lost
}

func (c *client) set(cut, dropNext bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut, c.dropNext = cut, dropNext
	return nil
}

// next reports whether the next request is lost, and whether its reply is lost.
func (c *client) next() (cut, drop bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cut, drop = c.cut, c.dropNext
	c.dropNext = false
	return cut, drop
}

// carry sends a request to the store and returns the reply. If the request or the reply is lost,
// carry returns an error when ctx ends.
func carry[T any](ctx context.Context, c *client, send func() (T, error)) (T, error) {
	cut, drop := c.next()
	if !cut {
		if reply, err := send(); !drop {
			return reply, err
		}
	}
	<-ctx.Done()
	var none T
	return none, ctx.Err()
}

func (c *client) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return carry(ctx, c, func() (driver.Grant, error) { return c.Store.Acquire(ctx, r) })
}

func (c *client) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	return carry(ctx, c, func() ([]driver.Outcome, error) { return c.Store.Renew(ctx, grants) })
}

func (c *client) Release(ctx context.Context, g driver.Grant) error {
	_, err := carry(ctx, c, func() (struct{}, error) { return struct{}{}, c.Store.Release(ctx, g) })
	return err
}

func (c *client) Notify(ctx context.Context, key driver.Key, wake func()) (stop func(), err error) {
	return c.Store.Notify(ctx, key, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.cut {
			wake()
		}
	})
}
