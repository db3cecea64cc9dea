// Package inprocess provides clients for the conformance suite. Their stores need no network: a store is in memory or
// in a file, for instance. A test can cut such a client off from its store.
package inprocess

import (
	"context"
	"errors"
	"sync"

	"github.com/rowlock/rowlock/driver"
)

// Store has the methods of a backend that the conformance suite calls.
type Store interface {
	driver.Backend
	driver.Operator
}

// Harness implements locktest.Harness, and the optional interfaces for which the store itself need not be changed.
type Harness struct {
	// Connect returns a new client, and a function that closes it.
	Connect func() (Store, func() error, error)
	// End makes the lease on key expire now, by the store's clock.
	End func(ctx context.Context, key driver.Key) error
}

// Memory is a store in the memory of this process.
type Memory interface {
	Store
	driver.Notifier
	Expire(key driver.Key)
}

// New returns a harness whose clients all use store.
func New(store Memory) *Harness {
	return &Harness{
		Connect: func() (Store, func() error, error) { return store, func() error { return nil }, nil },
		End: func(_ context.Context, key driver.Key) error {
			store.Expire(key)
			return nil
		},
	}
}

// Open returns a new client.
func (h *Harness) Open(context.Context) (driver.Backend, error) {
	store, end, err := h.Connect()
	if err != nil {
		return nil, err
	}
	c := &client{Store: store, end: end}
	n, notifies := store.(driver.Notifier)
	o, hands := store.(driver.HandOverer)
	notifying, handing := &notifying{client: c, notifier: n}, &handing{client: c, handOverer: o}
	switch {
	case notifies && hands:
		return struct {
			*client
			driver.Notifier
			driver.HandOverer
		}{c, notifying, handing}, nil
	case notifies:
		return struct {
			*client
			driver.Notifier
		}{c, notifying}, nil
	case hands:
		return struct {
			*client
			driver.HandOverer
		}{c, handing}, nil
	default:
		return c, nil
	}
}

// Close closes a client.
func (h *Harness) Close(b driver.Backend) error {
	c, err := clientOf(b)
	if err != nil {
		return err
	}
	return c.end()
}

// Expire ends a lease now.
func (h *Harness) Expire(ctx context.Context, key driver.Key) error { return h.End(ctx, key) }

// Crash makes all later requests of b fail.
func (h *Harness) Crash(b driver.Backend) error { return set(b, func(c *client) { c.dead = true }) }

// Cut cuts b off from the store: requests, replies and notifications are lost.
func (h *Harness) Cut(b driver.Backend) error { return set(b, func(c *client) { c.cut = true }) }

// Restore ends Cut for later requests.
func (h *Harness) Restore(b driver.Backend) error { return set(b, func(c *client) { c.cut = false }) }

// DropReply drops the reply to the next request of b. The store still executes the request.
func (h *Harness) DropReply(b driver.Backend) error {
	return set(b, func(c *client) { c.dropNext = true })
}

// Requests returns how many requests b has sent.
func (h *Harness) Requests(b driver.Backend) (n int, err error) {
	err = set(b, func(c *client) { n = c.requests })
	return n, err
}

func clientOf(b driver.Backend) (*client, error) {
	if c, ok := b.(interface{ self() *client }); ok {
		return c.self(), nil
	}
	return nil, errors.New("inprocess: the backend is not a client of this package")
}

func set(b driver.Backend, change func(*client)) error {
	c, err := clientOf(b)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
	return nil
}

// client is one client's connection to the store, together with the faults that the test has caused on it.
type client struct {
	Store
	end                 func() error
	mu                  sync.Mutex
	dead, cut, dropNext bool
	requests            int
}

func (c *client) self() *client { return c }

// notifying is a client for a store that implements driver.Notifier.
type notifying struct {
	client   *client
	notifier driver.Notifier
}

// handing is a client for a store that can also hand a lock over.
type handing struct {
	client     *client
	handOverer driver.HandOverer
}

var (
	errDead   = errors.New("inprocess: the client is dead")
	errCutOff = errors.New("inprocess: no reply")
)

// state counts a request, and returns the faults that affect it.
func (c *client) state() (dead, cut, drop bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	dead, cut, drop = c.dead, c.cut, c.dropNext && !c.cut && !c.dead
	c.requests++
	if drop {
		c.dropNext = false
	}
	return dead, cut, drop
}

// carry calls the function request and returns its reply. If the client is dead, cut off or must lose the reply, carry
// returns an error instead.
func carry[T any](ctx context.Context, c *client, request func() (T, error)) (T, error) {
	var zero T
	dead, cut, drop := c.state()
	if dead {
		return zero, driver.NotApplied(errDead)
	}
	if !cut {
		reply, err := request()
		if !drop {
			return reply, err
		}
	}
	<-ctx.Done()
	return zero, errors.Join(errCutOff, ctx.Err())
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

func (c *client) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	_, err := carry(ctx, c, func() (struct{}, error) { return struct{}{}, c.Store.Pause(ctx, g, as) })
	return err
}

// Notify drops the notifications of a client that is cut off.
func (c *notifying) Notify(ctx context.Context, key driver.Key, wake func()) (stop func(), err error) {
	return c.notifier.Notify(ctx, key, func() {
		if c.client.hears() {
			wake()
		}
	})
}

// HandOver sends a hand-over through the client's connection, with the connection's faults.
func (c *handing) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	return carry(ctx, c.client, func() (driver.Grant, error) { return c.handOverer.HandOver(ctx, from, r) })
}

func (c *client) hears() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.dead && !c.cut
}
