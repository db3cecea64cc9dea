package rowlock

import (
	"sync"
	"time"
)

// tellingTimeout is how long Close waits for a function of a [Trace] that is running. It need not be long, because such a
// function does not block, and cannot be unlimited, because the function may be what has called Close.
const tellingTimeout = 100 * time.Millisecond

// crew is the goroutines of a Locker, or those of callers that wait for a name.
type crew struct {
	mu      sync.Mutex
	working int // that are not inside a function of a Trace
	telling int // that are
	changed chan struct{}
}

// Go starts a goroutine.
func (c *crew) Go(f func()) {
	c.count(1, 0)
	go func() {
		defer c.count(-1, 0)
		f()
	}()
}

// tell calls f, which calls functions of a Trace. The caller is a goroutine of the crew.
func (c *crew) tell(f func()) {
	c.count(-1, 1)
	defer c.count(1, -1)
	f()
}

func (c *crew) count(working, telling int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working += working
	c.telling += telling
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// wait returns when no goroutine is left, but for those that stay inside a function of a Trace; or when limit is closed.
func (c *crew) wait(limit <-chan struct{}) {
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
func (c *crew) look() (working, all int, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.working, c.working + c.telling, c.changed
}
