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
	pg   *postgres
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
	call    call // the last one that granted something
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

	called bool // before it came back
	call   call
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
	id, turn, decided, first, back := s.join(key, c)
	stop = func() { s.leave(key, c) }
	timer := time.NewTimer(decision)
	defer timer.Stop()
	select {
	case <-decided:
	case <-timer.C:
	case <-ctx.Done():
	}
	if back {
		s.registered(key, "")
		return stop, nil // the request before has written the row
	}
	for channel, same := s.heardOn(), false; !same; {
		if err = p.write(ctx, turn, rowOf(key, id), channel, flag(first)); err != nil {
			stop()
			return nil, p.classify(ctx, "wait for", key, err)
		}
		channel, same = s.registered(key, channel)
	}
	return stop, nil
}

// write writes one row, once nobody else does.
func (p *postgres) write(ctx context.Context, turn turn, row waiterRow, channel string, first int64) error {
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return driver.NotApplied(ctx.Err())
	}
	defer func() { <-turn }()
	return p.exec(ctx, "wait", encodeWaiters([]waiterRow{row}), channel, first)
}

// registered takes note that key's row was written with a channel, and reports whether that is still the one
// on which calls are heard.
func (s *waiters) registered(key driver.Key, with string) (channel string, same bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.topics[key]; t != nil {
		t.known, t.idle = true, false
	}
	if s.hears {
		channel = s.channel
	}
	return channel, channel == with
}

// join has the goroutine run, and returns the id of the row, the turn to write it, and what is closed once it is known
// whether calls are heard.
func (s *waiters) join(key driver.Key, c *caller) (id string, turn turn, decided <-chan struct{}, first, back bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[key]
	if first = t == nil; first {
		t = &topic{callers: make(map[*caller]struct{})}
		if s.topics == nil {
			s.topics, s.leavers, s.missing = make(map[driver.Key]*topic), make(map[driver.Key]*leaver), make(map[string]driver.Key)
		}
		s.topics[key] = t
		if l := s.leavers[key]; l != nil && !l.sent { // it comes back to its row
			t.id, t.idle, t.call, t.turn, back = l.id, l.idle, l.call, l.turn, l.back
			delete(s.leavers, key)
			if l.called {
				defer c.wake()
			}
		} else {
			t.id, t.turn = driver.NewNonce().String(), make(chan struct{}, 1)
		}
	}
	t.callers[c] = struct{}{}
	s.hasty = false
	if !s.running {
		s.start()
	}
	return t.id, t.turn, s.decided, first, back
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
	s.leavers[key] = &leaver{id: t.id, idle: t.idle, turn: t.turn}
	s.hurry()
}

// hurry has the goroutine look at once for what is to be done. The caller holds mu.
func (s *waiters) hurry() {
	if s.ear != nil {
		s.ear.poke()
	}
}

// waiting is the id of the row of a waiter that asks, else nil, and says whether its request is left there if it is
// refused; mode is that for acquire_waiting.sql. Whoever comes back to a row of a moment ago writes it at once.
func (s *waiters) waiting(r driver.Request) (id any, leaves bool, mode int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	leaves = s.hears && r.Seal == ""
	if t := s.topics[r.Key]; t != nil && r.Waiting {
		id = t.id
	} else if l := s.leavers[r.Key]; t == nil && l != nil && l.back && r.Waits { // it has left its request there
		id = l.id
	} else if t == nil && l != nil && l.idle && !l.sent && r.Waits && leaves {
		id, mode = l.id, 2
	} else {
		return nil, false, 0
	}
	s.asked = s.asked || leaves
	return id, leaves, mode + flag(leaves)
}

// answered takes note of what a waiter was told. The row of another, for whom the lock was kept in vain, is
// deleted: it may be dead. If it lives, it writes the row anew before long. It reports whether the waiter's own row
// is to be written anew, because nobody had been called by it.
func (s *waiters) answered(r driver.Request, a answer, there bool) (anew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	granted := a.verdict == vGranted
	if t := s.topics[r.Key]; t != nil {
		anew = t.idle && !granted && !there
		t.idle = granted || anew
	} else if l := s.leavers[r.Key]; l != nil {
		l.idle, l.back = granted, !granted && (l.back || there)
	}
	if a.missed != "" {
		s.missing[a.missed] = r.Key
		s.hurry()
	}
	return anew
}

// leaver is the id of who waited for key until it was granted, and whose row is to be passed over. Where
// somebody waited here, or does, others do as well, most likely.
func (s *waiters) leaver(key driver.Key) (id string, crowded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.leavers[key]; l != nil {
		return l.id, true
	}
	return "", s.topics[key] != nil
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
		if l.called = true; by.token > 0 {
			l.call = by
		}
	}
	for _, t := range s.topics {
		if t.id != by.id && (by.id != "" || !t.known) {
			continue
		}
		if by.token > 0 {
			t.call = by
		}
		for c := range t.callers { // they never block
			c.wake()
		}
	}
}

// waiterRow is a waiter as wait.sql and leave.sql read it.
type waiterRow struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	ID        string `json:"id"`
}

func rowOf(key driver.Key, id string) waiterRow { return waiterRow{key.Namespace, key.Name, id} }

func encodeWaiters(rows []waiterRow) string {
	text, _ := json.Marshal(rows) // strings are always encoded
	return string(text)
}
