package locktest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// readwrite is a store in memory with a shared form and a queue. The waiters retry their requests. Without a defect,
// this store is the specification of sharing. With a defect, it is a mutant.
type readwrite struct {
	defect string

	mu     sync.Mutex
	last   driver.Token
	queues map[driver.Key][]*rwEntry
}

type rwEntry struct {
	driver.Grant
	shared, waits bool
}

func (s *readwrite) Open(context.Context) (driver.Backend, error) { return &rwClient{s, false}, nil }
func (s *readwrite) Shared(b driver.Backend) driver.Backend {
	return &rwClient{b.(*rwClient).readwrite, true}
}

type rwClient struct {
	*readwrite
	shared bool
}

func (c *rwClient) Capabilities() driver.Capabilities {
	return driver.Capabilities{Backend: "readwrite", Token: driver.LinearizableToken, Fair: true, Wakes: true}
}

// granted reports whether the entry e holds the lock. If e is not in the queue, granted reports whether e would hold
// the lock as the last entry.
func (s *readwrite) granted(key driver.Key, e *rwEntry) bool {
	for _, before := range s.queues[key] {
		if before == e {
			break
		}
		shares := before.shared && e.shared
		switch s.defect {
		case "readers exclude each other":
			shares = false
		case "readers exclude nobody":
			shares = before.shared
		case "writers exclude no readers":
			shares = e.shared
		case "readers pass a writer who waits":
			shares = shares || e.shared && before.waits
		}
		if !shares {
			return false
		}
	}
	return true
}

func (c *rwClient) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return c.take(ctx, r, false)
}

func (c *rwClient) Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	g, err := c.take(ctx, r, r.Waiting)
	var held *driver.Held
	if errors.As(err, &held) {
		ctx = wait(held)
		return c.take(ctx, r, true)
	}
	return g, err
}

// take does not wait, because the engine retries.
func (c *rwClient) take(ctx context.Context, r driver.Request, queue bool) (driver.Grant, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, driver.NotApplied(err)
	}
	e := c.find(r.Key, r.Nonce)
	if e == nil {
		e = &rwEntry{Grant: driver.Grant{Key: r.Key, Nonce: r.Nonce, TTL: r.TTL}, shared: c.shared, waits: true}
		if !queue && !c.granted(r.Key, e) {
			return driver.Grant{}, &driver.Held{}
		}
		c.last++
		e.Token = c.last
		c.queues[r.Key] = append(c.queues[r.Key], e)
	} else if c.defect == "gives the same nonce another token" {
		c.last++
		e.Token = c.last
	}
	if !c.granted(r.Key, e) {
		return driver.Grant{}, &driver.Held{}
	}
	e.waits = false
	return e.Grant, nil
}

func (s *readwrite) find(key driver.Key, nonce driver.Nonce) *rwEntry {
	for _, e := range s.queues[key] {
		if e.Nonce == nonce {
			return e
		}
	}
	return nil
}

func (c *rwClient) Renew(_ context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	outcomes := make([]driver.Outcome, len(grants))
	for i, g := range grants {
		outcomes[i] = driver.Lost
		if e := c.find(g.Key, g.Nonce); e != nil && e.Token == g.Token {
			outcomes[i] = driver.Renewed
		}
	}
	return outcomes, nil
}

func (c *rwClient) Release(_ context.Context, g driver.Grant) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queues[g.Key] = slices.DeleteFunc(c.queues[g.Key], func(e *rwEntry) bool {
		return e.Nonce == g.Nonce || c.defect == "one release is all readers'" && e.shared
	})
	return nil
}

var sharingMutants = map[string][]string{
	"readers exclude each other":         {"shared-grants-share", "shared-waiters-wake"},
	"readers exclude nobody":             {"shared-keeps-out"},
	"writers exclude no readers":         {"shared-keeps-out"},
	"readers pass a writer who waits":    {"writer-is-not-passed"},
	"one release is all readers'":        {"shared-grants-share", "shared-keeps-out"},
	"gives the same nonce another token": {"shared-same-nonce"},
}

func rw(defect string) Harness {
	return &readwrite{defect: defect, queues: make(map[driver.Key][]*rwEntry)}
}

// With each defect in sharingMutants, readwrite fails the cases that are listed for the defect.
// Without a defect it passes.
func TestSharing(t *testing.T) {
	t.Parallel()
	require.NoError(t, impatient.check(t.Context(), rw(""), sharingCases))
	for defect, caughtBy := range sharingMutants {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			isCaught(t, rw(defect), caughtBy)
		})
	}
}
