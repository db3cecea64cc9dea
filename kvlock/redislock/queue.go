package redislock

import (
	"context"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// leaveLimit bounds what a waiter that gives up does for those who wait on.
const leaveLimit = time.Second

var leaveScript = loadQueued("leave")

// places are the names for which this process waits. For each it stands in the queue in the lock's hash, from its first
// refused request as a waiter until it is granted the lock or gives up. A release calls the first in the queue, on a channel of
// the process's own, and keeps the lock for it for a moment, so that whoever has released does not come in between.
type places struct {
	id driver.Nonce // of this process

	mu    sync.Mutex
	byKey map[driver.Key]*standing
}

type standing struct {
	calls  int  // of Notify that have not been stopped
	queued bool // it may be in the queue
}

func newPlaces() *places {
	return &places{id: driver.NewNonce(), byKey: make(map[driver.Key]*standing)}
}

func (p *places) join(key driver.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey[key] == nil {
		p.byKey[key] = new(standing)
	}
	p.byKey[key].calls++
}

// leave says whether somebody may be in the queue who does not wait any more.
func (p *places) leave(key driver.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.byKey[key]
	if one.calls--; one.calls > 0 {
		return false
	}
	delete(p.byKey, key)
	return one.queued
}

// asks is how a request that comes of a waiter names this process: "" if it does not wait for key. From then on it may be in
// the queue.
func (p *places) asks(key driver.Key) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey[key] == nil {
		return ""
	}
	p.byKey[key].queued = true
	return p.id.String()
}

// of is how other scripts for key name this process.
func (p *places) of(key driver.Key) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey[key] == nil {
		return ""
	}
	return p.id.String()
}

// granted notes that a grant has taken a waiter out of the queue.
func (p *places) granted(key driver.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.byKey[key]; one != nil {
		one.queued = false
	}
}

// calls is what the channel of a process that waits begins with. No lock has a key like it, because there a % stands
// before two digits.
func (o options) calls() string { return o.prefix + "%waiter:" }

// elsewhere is "1" where those who listen may be connected to another server than the one that has the lock.
func (b *Backend) elsewhere() string {
	if b.isCluster() {
		return "1"
	}
	return ""
}

// leave takes a waiter that gave up out of the queue. If that fails, releases of the next three seconds may keep the lock for
// it, once, for a moment.
func (b *Backend) leave(key driver.Key) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	_, _ = do(ctx, b, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, run(ctx, b.client, call{leaveScript, []string{b.options.encode(key)}, []any{
			b.places.id.String(), b.options.calls(), b.elsewhere(),
		}}).Err()
	})
}
