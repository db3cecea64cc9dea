package redisbase

import (
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Places records the names for which this process waits. Each lock has a queue of processes (see queue.lua). This
// process enters a lock's queue with its first refused request after Notify, and stays there until it is granted the
// lock or gives up. A release notifies the first process of the queue, on that process's own channel. The release also
// reserves the lock briefly for the notified process. So the releasing process cannot acquire the lock again before
// the notified process.
type Places struct {
	ID driver.Nonce // identifies this process in the queue

	mu    sync.Mutex
	byKey map[driver.Key]*standing
}

type standing struct {
	calls  int       // calls of Notify that have not been stopped
	queued bool      // the process may be in the queue
	since  time.Time // time of the first Join, or of the last grant
}

// NewPlaces returns a Places without names, with a new random id for this process.
func NewPlaces() *Places {
	return &Places{ID: driver.NewNonce(), byKey: make(map[driver.Key]*standing)}
}

// Join records that one more caller of this process waits for key.
func (p *Places) Join(key driver.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey[key] == nil {
		p.byKey[key] = &standing{since: time.Now()}
	}
	p.byKey[key].calls++
}

// Leave reverses one Join. It returns true if no caller of this process waits for key any longer and the process may
// still be in the queue of the server.
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

// Asks returns the id that a waiter's request for key contains, and records that the process may be in the queue. It
// returns "" if this process does not wait for key.
func (p *Places) Asks(key driver.Key) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey[key] == nil {
		return ""
	}
	p.byKey[key].queued = true
	return p.ID.String()
}

// Queued returns the id of this process if the process may be in the queue of key, and "" otherwise.
func (p *Places) Queued(key driver.Key) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.byKey[key]; one == nil || !one.queued {
		return ""
	}
	return p.ID.String()
}

// Since returns when the current wait of this process for key began, or the zero time if it does not wait.
func (p *Places) Since(key driver.Key) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.byKey[key]; one != nil {
		return one.since
	}
	return time.Time{}
}

// Granted records that a grant has removed this process from the queue.
func (p *Places) Granted(key driver.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.byKey[key]; one != nil {
		one.queued, one.since = false, time.Now()
	}
}
