package redislock

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// subscriber is the one connection that hears of releases, while anybody wants to.
type subscriber struct {
	client redis.UniversalClient
	own    string // a channel for this process alone, whose messages are channels of topics; empty if there is none

	mu           sync.Mutex
	topics       map[string]*topic
	changed      chan struct{} // holds one; nil while nothing runs
	refusal      error         // the server's last answer to SUBSCRIBE, if it was a refusal
	refusedUntil time.Time
}

// topic is a channel that somebody waits for.
type topic struct {
	waiters map[*waiter]struct{}
	ready   chan struct{} // closed once the server has confirmed or refused it
	refusal error         // set before ready is closed; nil if the server confirmed
	once    sync.Once
	left    time.Time // when the last waiter went
}

type waiter struct{ wake func() }

// add adds w to the waiters of channel. It fails at once while the server refuses subscriptions.
func (s *subscriber) add(channel string, w *waiter) (*topic, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusedFor() > 0 {
		return nil, s.refusal
	}
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
	return t, nil
}

// await returns once the server has answered the subscription, or ctx has ended.
func (t *topic) await(ctx context.Context) error {
	select {
	case <-t.ready:
		return t.refusal
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refuse fails the subscriptions that wait for an answer, and those of the next minute. Waiters whose subscription the server
// confirmed before poll until then.
func (s *subscriber) refuse(refusal error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal, s.refusedUntil = refusal, time.Now().Add(refusedPause)
	for channel, t := range s.topics {
		t.once.Do(func() {
			t.refusal = refusal
			close(t.ready)
			delete(s.topics, channel)
		})
	}
}

// refused is why the server does not let this process subscribe; nil if it does, or has not been asked for a minute.
func (s *subscriber) refused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusedFor() <= 0 {
		return nil
	}
	return s.refusal
}

// refusedFor is how long the refusal counts. The caller holds mu.
func (s *subscriber) refusedFor() time.Duration { return time.Until(s.refusedUntil) }

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

// drop forgets topics that nobody has waited for since then. The caller holds mu.
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
