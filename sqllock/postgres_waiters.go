package sqllock

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// waiters are the names for which this process waits, by way of one backend. Each has a row, where
// whoever releases the name finds it. While there are any, one goroutine says once a second that they
// still wait, and listens, on a connection of its own, for the releases that call one of them.
type waiters struct {
	pg      *postgres
	open    func(ctx context.Context) (ear, error) // nil if the driver lends nothing that hears
	channel string

	mu       sync.Mutex
	topics   map[driver.Key]*topic
	left     map[driver.Key]string // rows that are to be deleted
	running  bool
	hears    bool          // notifications have been seen to arrive on the present connection
	pooled   bool          // a pooler was found in between
	unheard  bool          // notifications have been found not to arrive
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
}

type caller struct{ wake func() }

// decision bounds how long a first waiter waits to be heard of by way of a notification.
const decision = 100 * time.Millisecond

// Notify implements [driver.Notifier]. A release tells one waiter, the one that has waited longest, and
// keeps the name for it for a moment; an expiry tells nobody. All waiters of a backend share one
// connection. Where a pooler swallows what it hears, or the driver is not pgx, the waiter is
// registered all the same, and finds out by its poll.
func (p *postgres) Notify(ctx context.Context, key driver.Key, wake func()) (stop func(), err error) {
	s, c := &p.waiters, &caller{wake: wake}
	id, decided, first := s.join(key, c)
	stop = func() { s.leave(key, c) }
	timer := time.NewTimer(decision)
	defer timer.Stop()
	select {
	case <-decided:
	case <-timer.C:
	case <-ctx.Done():
	}
	if err = p.exec(ctx, "wait", encodeWaiters(map[driver.Key]string{key: id}), s.heardOn(), flag(first)); err != nil {
		stop()
		return nil, p.classify(ctx, "wait for", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.topics[key]; t != nil {
		t.known = true
	}
	return stop, nil
}

// join has the goroutine run, and returns the id of the row and what is closed once it is known whether
// calls are heard.
func (s *waiters) join(key driver.Key, c *caller) (id string, decided <-chan struct{}, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[key]
	if first = t == nil; first {
		t = &topic{id: driver.NewNonce().String(), callers: make(map[*caller]struct{})}
		if s.topics == nil {
			s.topics, s.left = make(map[driver.Key]*topic), make(map[driver.Key]string)
		}
		s.topics[key] = t
	}
	t.callers[c] = struct{}{}
	if !s.running {
		s.start()
	}
	return t.id, s.decided, first
}

func (s *waiters) leave(key driver.Key, c *caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[key]
	if t == nil {
		return
	}
	delete(t.callers, c)
	if len(t.callers) > 0 {
		return
	}
	delete(s.topics, key)
	s.left[key] = t.id
	if s.ear != nil {
		s.ear.poke()
	}
}

// waiting is the waiter's id for a request that comes of one, else nil.
func (s *waiters) waiting(r driver.Request) any {
	if !r.Waiting {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.topics[r.Key]; t != nil {
		return t.id
	}
	return nil
}

// leaving is the id of a waiter for key who waits no more and whose row may still be there, else nil.
func (s *waiters) leaving(key driver.Key) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := s.left[key]; ok {
		return id
	}
	return nil
}

// missed has the row of a waiter deleted for whom key was kept in vain: it may be dead. One that lives
// writes its row anew before long.
func (s *waiters) missed(key driver.Key, id string) {
	if id == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, busy := s.left[key]; busy || !s.running {
		return
	}
	s.left[key] = id
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

// wake wakes whoever waits for what has this id, or everybody if id is empty.
func (s *waiters) wake(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.topics {
		if t.id != id && (id != "" || !t.known) {
			continue
		}
		for c := range t.callers { // they never block
			c.wake()
		}
	}
}

// encodeWaiters is the first parameter of wait.sql and leave.sql.
func encodeWaiters(ids map[driver.Key]string) string {
	type row struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		ID        string `json:"id"`
	}
	rows := make([]row, 0, len(ids))
	for key, id := range ids {
		rows = append(rows, row{key.Namespace, key.Name, id})
	}
	text, _ := json.Marshal(rows) // strings are always encoded
	return string(text)
}
