package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// waiters are the names for which this process waits, by way of one backend. Each has a row, where
// whoever releases the name finds it. While there are any, one goroutine says once a second that they
// still wait, and listens, on a connection of its own, for the releases that call one of them.
type waiters struct {
	pg   *Backend
	open func(ctx context.Context) (ear, error) // nil if the driver lends nothing that hears

	mu       sync.Mutex
	channel  string // of the present connection
	asked    bool   // a request was ever left with a row
	topics   map[driver.Key]*topic
	leavers  map[driver.Key]*leaver // who waited until a moment ago
	missing  map[string]driver.Key  // waiters of others who did not come when they were called, by id
	running  bool
	ended    chan struct{} // closed when the goroutine that runs has ended
	hasty    bool          // nothing is kept for those who might come back
	hears    bool          // notifications have been seen to arrive on the present connection
	pooled   bool          // a pooler was found in between
	unheard  bool          // notifications are not known to arrive, or known not to
	decided  chan struct{} // closed once it is known whether the connection hears
	ear      ear           // the goroutine's
	parked   ear           // kept for a while although nobody waits
	unpark   *time.Timer
	deafTill time.Time // nobody tries to listen before
	renewed  time.Time // when the rows were last told of
	swept    time.Time // when those of the dead were last forgotten
}

// topic is one name for which somebody waits.
type topic struct {
	id      string
	callers map[*caller]struct{}
	known   bool // its row was written
	idle    bool // nobody is called by the row
	granted bool // a call has said that a release granted the lock, which nobody has looked into yet
	turn    turn
}

// turn is full while somebody writes a waiter's row: two who found none would both insert one.
type turn chan struct{}

// leaver is a row that is to be deleted.
type leaver struct {
	id   string
	idle bool // nobody is called by the row; else it is deleted before the second is over
	back bool // a request was left with the row, whose waiter comes back most likely
	sent bool // a statement that deletes it is under way
	turn turn
	gone chan struct{} // closed once it is deleted, or its process waits again

	called  bool // before it came back
	granted bool // as the topic's
}

type caller struct{ wake func() }

// hurry has the goroutine look at once for what is to be done. The caller holds mu.
func (s *waiters) hurry() {
	if s.ear != nil {
		s.ear.poke()
	}
}

// wakes reports whether waiters are called, as far as is known before anybody has waited.
func (s *waiters) wakes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open != nil && !s.unheard
}

func (s *waiters) behindPooler() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pooled
}

// heardOn is the channel on which calls arrive; empty if they do not.
func (s *waiters) heardOn() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hears {
		return s.channel
	}
	return ""
}

// wake wakes whoever is called, or everybody if it is nobody in particular.
func (s *waiters) wake(by call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.leavers {
		if l.id != by.id && by.id != "" {
			continue
		}
		l.called, l.granted = true, l.granted || by.granted
	}
	for _, t := range s.topics {
		if t.id != by.id && (by.id != "" || !t.known) {
			continue
		}
		t.granted = t.granted || by.granted
		for c := range t.callers { // they never block
			c.wake()
		}
	}
}
