// Package crew counts goroutines, so that Close can wait for them.
package crew

import (
	"sync"
	"time"
)

// tellingTimeout is how long Close waits for a running function of a Trace. The limit can be short, because a function
// of a Trace does not block. The limit is necessary, because that function may itself have called Close, and Close
// would then wait for itself.
const tellingTimeout = 100 * time.Millisecond

// Crew counts goroutines: those that a Locker has started, or those that wait for a name.
type Crew struct {
	mu      sync.Mutex
	working int // the number of goroutines that run no function of a Trace
	telling int // the number of goroutines that run a function of a Trace
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

// Enter counts the calling goroutine until it calls Leave.
func (c *Crew) Enter() { c.count(1, 0) }

// Leave stops counting the calling goroutine.
func (c *Crew) Leave() { c.count(-1, 0) }

// Tell calls f, which calls the user's functions in a rowlock.Trace. Only a goroutine that c counts may call Tell.
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

// look returns how many goroutines run no function of a Trace, how many there are in all, and a channel
// that is closed when the counts change.
func (c *Crew) look() (working, all int, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.working, c.working + c.telling, c.changed
}
