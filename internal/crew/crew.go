// Package crew counts goroutines, so that Close can wait for them.
package crew

import (
	"sync"
	"time"
)

// tellingTimeout is how long Close waits for a running function of a Trace. It can be short, because such a
// function does not block. It must be limited, because the function may have called Close.
const tellingTimeout = 100 * time.Millisecond

// Crew counts the goroutines of a Locker, or the callers that wait for a name.
type Crew struct {
	mu      sync.Mutex
	working int // goroutines that run no function of a Trace
	telling int // goroutines that run one
	changed chan struct{}
}

// Go runs f in a goroutine and counts it.
func (c *Crew) Go(f func()) {
	c.Enter()
	go func() {
		defer c.Leave()
		f()
	}()
}

// Enter counts the calling goroutine until Leave.
func (c *Crew) Enter() { c.count(1, 0) }

// Leave ends an Enter.
func (c *Crew) Leave() { c.count(-1, 0) }

// Tell calls f, which calls functions of a Trace. The caller is a goroutine of c.
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

// Wait returns when every goroutine has ended or when limit is closed. For goroutines that run a
// function of a Trace, it waits at most tellingTimeout.
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

// look returns the counts, and a channel that is closed when they change.
func (c *Crew) look() (working, all int, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.working, c.working + c.telling, c.changed
}
