// Package crew counts goroutines, so that Close can wait for them.
package crew

import (
	"sync"
	"time"
)

// tellingTimeout is how long Close waits for a function of a Trace that is running. It need not be long, because such a
// function does not block, and cannot be unlimited, because the function may be what has called Close.
const tellingTimeout = 100 * time.Millisecond

// Crew is the goroutines of a Locker, or those of callers that wait for a name.
type Crew struct {
	mu      sync.Mutex
	working int // that are not inside a function of a Trace
	telling int // that are
	changed chan struct{}
}

// Go starts a goroutine.
func (c *Crew) Go(f func()) {
	c.Enter()
	go func() {
		defer c.Leave()
		f()
	}()
}

// Enter counts the goroutine of a caller, until it calls Leave.
func (c *Crew) Enter() { c.count(1, 0) }

// Leave ends an Enter.
func (c *Crew) Leave() { c.count(-1, 0) }

// Tell calls f, which calls functions of a Trace. The caller is a goroutine of the crew.
func (c *Crew) Tell(f func()) {
	c.count(-1, 1)
	defer c.count(1, -1)
	f()
}

func (c *Crew) count(working, telling int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working += working
	c.telling += telling
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// Wait returns when no goroutine is left, but for those that stay inside a function of a Trace; or when limit is closed.
func (c *Crew) Wait(limit <-chan struct{}) {
	for {
		working, all, changed := c.look()
		var over <-chan time.Time
		switch {
		case all == 0:
			return
		case working == 0:
			over = time.After(tellingTimeout)
		}
		select {
		case <-changed:
		case <-over:
			return
		case <-limit:
			return
		}
	}
}

// look also returns what is closed with the next change.
func (c *Crew) look() (working, all int, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.working, c.working + c.telling, c.changed
}
