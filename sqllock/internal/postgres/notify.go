package postgres

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// decision bounds how long a first waiter waits to be heard of by way of a notification.
const decision = 100 * time.Millisecond

// Notify implements [driver.Notifier]. A release tells one waiter, the one that has waited longest, and
// keeps the name for it for a moment; an expiry tells nobody. All waiters of a backend share one
// connection. Where a pooler swallows what it hears, or the driver is not pgx, the waiter is
// registered all the same, and finds out by its poll.
func (p *Backend) Notify(ctx context.Context, key driver.Key, wake func()) (stop func(), err error) {
	s, c := &p.waiters, &caller{wake: wake}
	id, turn, decided, first, back := s.join(key, c)
	stop = func() { awaitGone(s.leave(key, c)) }
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
		if err = p.write(ctx, turn, rowOf(key, id), channel, sqlbase.Flag(first)); err != nil {
			s.leave(key, c)
			return nil, p.classify(ctx, "wait for", key, err)
		}
		channel, same = s.registered(key, channel)
	}
	return stop, nil
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
			t.id, t.idle, t.granted, t.turn, back = l.id, l.idle, l.granted, l.turn, l.back
			delete(s.leavers, key)
			close(l.gone)
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

// leave removes c from the waiters. The channel that it returns is closed when the row of key is deleted, so that no release can reserve the
// lock for it. It is nil if no release can do so now.
func (s *waiters) leave(key driver.Key, c *caller) (gone <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[key]
	if t == nil {
		return nil
	}
	delete(t.callers, c)
	if len(t.callers) > 0 {
		return nil
	}
	delete(s.topics, key)
	l := &leaver{id: t.id, idle: t.idle, turn: t.turn, gone: make(chan struct{})}
	s.leavers[key] = l
	s.hurry()
	if l.idle {
		return nil
	}
	return l.gone
}

// forsake deletes the row that a request was left with and whose waiter was expected back. The channel that it returns is closed then; it is nil
// if there is no such row.
func (s *waiters) forsake(key driver.Key) (gone <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leavers[key]
	if l == nil || !l.back {
		return nil
	}
	l.back = false
	s.hurry()
	return l.gone
}

// goneLimit bounds how long a waiter that gives up waits for the deletion of its row.
const goneLimit = time.Second

func awaitGone(gone <-chan struct{}) {
	if gone == nil {
		return
	}
	timer := time.NewTimer(goneLimit)
	defer timer.Stop()
	select {
	case <-gone:
	case <-timer.C:
	}
}
