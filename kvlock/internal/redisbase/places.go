package redisbase

import (
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Places are the names for which this process waits. For each it stands in the queue in the lock's hash, from its first
// refused request as a waiter until it is granted the lock or gives up. A release calls the first in the queue, on a channel of
// the process's own, and keeps the lock for it for a moment, so that whoever has released does not come in between.
type Places struct {
	ID driver.Nonce // of this process

	mu    sync.Mutex
	byKey map[driver.Key]*standing
}

type standing struct {
	calls  int       // of Notify that have not been stopped
	queued bool      // it may be in the queue
	since  time.Time // when the first Join was, or the last grant
}

// NewPlaces returns the places of a process with a new id.
func NewPlaces() *Places {
	return &Places{ID: driver.NewNonce(), byKey: make(map[driver.Key]*standing)}
}

// Join notes that somebody waits for key.
func (p *Places) Join(key driver.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey[key] == nil {
		p.byKey[key] = &standing{since: time.Now()}
	}
	p.byKey[key].calls++
}

// Leave ends a Join. It says whether somebody may be in the queue who does not wait any more.
func (p *Places) Leave(key driver.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.byKey[key]
	if one.calls--; one.calls > 0 {
		return false
	}
	delete(p.byKey, key)
	return one.queued
}

// Asks is how a request that comes of a waiter names this process: "" if it does not wait for key. From then on it may be in
// the queue.
func (p *Places) Asks(key driver.Key) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey[key] == nil {
		return ""
	}
	p.byKey[key].queued = true
	return p.ID.String()
}

// Of is how other scripts for key name this process.
func (p *Places) Of(key driver.Key) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey[key] == nil {
		return ""
	}
	return p.ID.String()
}

// Since returns when the present wait of this process for key began, or the zero time if it does not wait.
func (p *Places) Since(key driver.Key) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.byKey[key]; one != nil {
		return one.since
	}
	return time.Time{}
}

// Granted notes that a grant has taken a waiter out of the queue.
func (p *Places) Granted(key driver.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.byKey[key]; one != nil {
		one.queued, one.since = false, time.Now()
	}
}
