package redisbase

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Subscriber receives notifications of releases on one connection, which is open while there are waiters.
type Subscriber struct {
	client redis.UniversalClient
	own    string // see NewSubscriber

	Times Times // must not change after the first call of Add

	mu           sync.Mutex
	topics       map[string]*Topic
	changed      chan struct{} // wakes the method run after a change of topics (capacity 1); nil while that method does not run
	lost         bool          // the connection has ended, and the next one has confirmed no subscription yet
	refusal      error         // the server's last reply to SUBSCRIBE, if it was a refusal
	refusedUntil time.Time
}

// Topic is a channel that has waiters.
type Topic struct {
	waiters map[*Waiter]struct{}
	ready   chan struct{} // closed when the server has confirmed or refused the subscription
	refusal error         // set before ready is closed; nil if the server confirmed
	once    sync.Once
	left    time.Time   // when the last waiter left
	second  *time.Timer // wakes the waiters if the process before this one does not acquire the lock; nil if there is none
}

// Waiter waits for messages on a channel. Its Wake must not block.
type Waiter struct{ Wake func() }

// NewSubscriber returns a subscriber without a connection. The parameter own is a channel to which only this process
// subscribes, or an empty text. A message on that channel contains the name of the channel whose waiters must be woken,
// now, or, after the word "next", if no such message follows soon.
func NewSubscriber(client redis.UniversalClient, own string) *Subscriber {
	return &Subscriber{client: client, own: own, Times: usual}
}

// Add adds w to the waiters of channel. It fails at once while the server refuses subscriptions.
func (s *Subscriber) Add(channel string, w *Waiter) (*Topic, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusedFor() > 0 {
		return nil, s.refusal
	}
	t := s.topics[channel]
	if t == nil {
		if s.topics == nil {
			s.topics = make(map[string]*Topic)
		}
		t = &Topic{waiters: make(map[*Waiter]struct{}), ready: make(chan struct{})}
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

// Await returns when the server has answered the subscription, or ctx has ended.
func (t *Topic) Await(ctx context.Context) error {
	select {
	case <-t.ready:
		return t.refusal
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refuse makes all unanswered subscriptions fail. New subscriptions fail for the next minute. During that minute,
// the waiters whose subscription was confirmed before only poll.
func (s *Subscriber) refuse(refusal error) {
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

// Refused returns the error with which the server refused a subscription. It returns nil if the server has refused none
// within the last minute.
func (s *Subscriber) Refused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusedFor() <= 0 {
		return nil
	}
	return s.refusal
}

// refusedFor returns how long the last refusal is still remembered. The caller holds mu.
func (s *Subscriber) refusedFor() time.Duration { return time.Until(s.refusedUntil) }

// Remove removes w from the waiters of channel.
func (s *Subscriber) Remove(channel string, w *Waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[channel]
	if t == nil {
		return
	}
	delete(t.waiters, w)
	if len(t.waiters) == 0 {
		t.cancelSecond()
		t.left = time.Now()
		s.change()
	}
}

// change makes the connection adjust its subscriptions. The caller holds mu.
func (s *Subscriber) change() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// drop deletes the topics that have had no waiter for the given time. The caller holds mu.
func (s *Subscriber) drop(since time.Duration) {
	for channel, t := range s.topics {
		if len(t.waiters) == 0 && time.Since(t.left) >= since {
			delete(s.topics, channel)
		}
	}
}

// Hears reports whether messages arrive, as far as that is known. It returns false while the connection is lost or the
// server refuses subscriptions.
func (s *Subscriber) Hears() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.lost && s.refusedFor() <= 0
}

// lose records that the connection has ended, and wakes all waiters, which then poll more often.
func (s *Subscriber) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = true
	for _, t := range s.topics {
		t.wake()
	}
}

// wake wakes the waiters of channel. The parameter confirmed says that the server has confirmed the subscription.
func (s *Subscriber) wake(channel string, confirmed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if confirmed {
		s.lost = false
	}
	t := s.topics[channel]
	if t == nil {
		return
	}
	isNew := false
	if confirmed {
		t.once.Do(func() {
			isNew = true
			close(t.ready)
		})
	}
	if !isNew { // a waiter sends a request when its new subscription is confirmed
		t.wake()
	}
}

// secondChance is the delay after which the second process of a queue sends a request, if it was not notified. The lock
// was reserved for the first process for 50 ms.
const secondChance = 55 * time.Millisecond

// wakeLater wakes the waiters of channel after secondChance, unless they are woken before.
func (s *Subscriber) wakeLater(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[channel]
	if t == nil {
		return
	}
	t.cancelSecond()
	t.second = time.AfterFunc(secondChance, func() { s.wake(channel, false) })
}

// wake calls the function Wake of each waiter, which does not block. The caller holds the subscriber's mu.
func (t *Topic) wake() {
	t.cancelSecond()
	for w := range t.waiters {
		w.Wake()
	}
}

func (t *Topic) cancelSecond() {
	if t.second != nil {
		t.second.Stop()
		t.second = nil
	}
}

// ForgetRefusal makes the next subscription ask the server again. It is for tests.
func (s *Subscriber) ForgetRefusal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusedUntil = time.Time{}
	s.change()
}
