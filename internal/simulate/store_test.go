package simulate_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// trouble is a fault of one request.
type trouble struct {
	memlock.Fault
	taken bool // the lease on the name is ended by force just before the request arrives
}

// troubles lists the possible faults of a request. The first entry is a request without a fault.
var troubles = []trouble{
	{},
	{Fault: memlock.Fault{Request: 200 * time.Millisecond}},
	{Fault: memlock.Fault{Reply: 200 * time.Millisecond}},
	{Fault: memlock.Fault{LoseRequest: true}},
	{Fault: memlock.Fault{LoseReply: true}},
	{Fault: memlock.Fault{Request: 1200 * time.Millisecond, Late: true}},
	{Fault: memlock.Fault{Fail: driver.NotApplied(errors.New("simulated: connection refused"))}},
	{Fault: memlock.Fault{Request: time.Millisecond}, taken: true},
}

// world is one store with one lock. It records when leases were ended by force.
type world struct {
	*memlock.Backend
	mu    sync.Mutex
	taken map[driver.Token]time.Time // for each token, when its lease was ended by force
}

// newWorld returns a store that calls the function next for the trouble of each request.
func newWorld(next func() trouble) *world {
	s := &world{Backend: memlock.New(), taken: map[driver.Token]time.Time{}}
	s.Intercept(func(memlock.Call) memlock.Fault {
		f := next()
		if f.taken {
			time.AfterFunc(0, s.take)
		}
		return f.Fault
	})
	return s
}

var theName = driver.Key{Name: "a"}

func (s *world) take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.state(); now.State == driver.StateHeld {
		s.taken[now.Token] = time.Now()
		s.Lose(theName.Name)
	}
}

func (s *world) state() driver.Status {
	now, _ := s.Inspect(background, theName)
	return now
}

// takenAt returns when a lease was ended by force, or a time that never comes.
func (s *world) takenAt(token driver.Token) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.taken[token]; ok {
		return at
	}
	return time.Now().Add(1e6 * time.Hour)
}

// client is the connection of one process to the store. It records the replies that the process received.
type client struct {
	driver.Backend
	*world // for the rest

	mu       sync.Mutex
	refusals int                        // number of requests that were refused
	troubled int                        // number of requests that failed or were slow
	proven   map[driver.Token]time.Time // for each token, when the last request that confirmed the lease was sent
	denied   map[driver.Token]bool      // for each token, whether the store has said that the lease is not held
}

func newClient(s *world, backend driver.Backend) *client {
	return &client{Backend: backend, world: s, proven: map[driver.Token]time.Time{}, denied: map[driver.Token]bool{}}
}

func (c *client) Capabilities() driver.Capabilities { return c.world.Capabilities() }

func (c *client) Notify(ctx context.Context, key driver.Key, wake func()) (func(), error) {
	return c.world.Notify(ctx, key, wake)
}

func (c *client) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return c.grant(func() (driver.Grant, error) { return c.Backend.Acquire(ctx, r) })
}

func (c *client) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	return c.grant(func() (driver.Grant, error) { return c.Backend.(driver.HandOverer).HandOver(ctx, from, r) })
}

func (c *client) grant(ask func() (driver.Grant, error)) (driver.Grant, error) {
	sent := time.Now()
	g, err := ask()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.weigh(sent, err)
	if err == nil {
		c.prove(g.Token, sent)
	}
	return g, err
}

func (c *client) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	sent := time.Now()
	outcomes, err := c.Backend.Renew(ctx, grants)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.weigh(sent, err)
	for i, o := range outcomes {
		switch o {
		case driver.Renewed:
			c.prove(grants[i].Token, sent)
		case driver.Lost:
			c.denied[grants[i].Token] = true
		}
	}
	return outcomes, err
}

func (c *client) Release(ctx context.Context, g driver.Grant) error {
	sent := time.Now()
	err := c.Backend.Release(ctx, g)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.weigh(sent, err)
	if errors.Is(err, driver.ErrNotHeld) {
		c.denied[g.Token] = true
	}
	return err
}

func (c *client) weigh(sent time.Time, err error) {
	var held *driver.Held
	switch {
	case errors.As(err, &held):
		c.refusals++
	case err != nil && !errors.Is(err, driver.ErrNotHeld), time.Since(sent) > 0:
		c.troubled++
	}
}

func (c *client) prove(token driver.Token, sent time.Time) {
	if c.proven[token].Before(sent) {
		c.proven[token] = sent
	}
}

// told returns what the process has learned from the store so far.
func (c *client) told(token rowlock.Token) (refusals, troubled int, proven time.Time, denied bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refusals, c.troubled, c.proven[token], c.denied[token]
}
