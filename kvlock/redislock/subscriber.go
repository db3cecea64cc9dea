package redislock

import (
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// subscriber is the one connection that hears of releases, while anybody wants to.
type subscriber struct {
	client redis.UniversalClient
	own    string // a channel for this process alone, whose messages are channels of topics; empty if there is none

	mu      sync.Mutex
	topics  map[string]*topic
	changed chan struct{} // holds one; nil while nothing runs
}

// topic is a channel that somebody waits for.
type topic struct {
	waiters map[*waiter]struct{}
	ready   chan struct{} // closed once the server has confirmed it
	once    sync.Once
	left    time.Time // when the last waiter went
}

type waiter struct{ wake func() }

// add returns what is closed once the server has confirmed the subscription.
func (s *subscriber) add(channel string, w *waiter) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[channel]
	if t == nil {
		if s.topics == nil {
			s.topics = make(map[string]*topic)
		}
		t = &topic{waiters: make(map[*waiter]struct{}), ready: make(chan struct{})}
		s.topics[channel] = t
		if s.changed == nil {
			s.changed = make(chan struct{}, 1)
			go s.run(s.changed)
		}
		s.change()
	}
	t.waiters[w] = struct{}{}
	return t.ready
}

func (s *subscriber) remove(channel string, w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[channel]
	if t == nil {
		return
	}
	delete(t.waiters, w)
	if len(t.waiters) == 0 {
		t.left = time.Now()
		s.change()
	}
}

// change has the connection follow. The caller holds mu.
func (s *subscriber) change() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// forget forgets topics that nobody has waited for of late.
func (s *subscriber) forget(since time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(since)
}

// drop is forget. The caller holds mu.
func (s *subscriber) drop(since time.Duration) {
	for channel, t := range s.topics {
		if len(t.waiters) == 0 && time.Since(t.left) >= since {
			delete(s.topics, channel)
		}
	}
}

func (s *subscriber) wake(channel string, confirmed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[channel]
	if t == nil {
		return
	}
	if confirmed {
		t.once.Do(func() { close(t.ready) })
	}
	for w := range t.waiters { // they never block
		w.wake()
	}
}
