package redisbase

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
)

const (
	pongLimit      = 2 * time.Second // the longest wait for the reply to a PING
	subscribeLimit = 5 * time.Second // timeout of one SUBSCRIBE or UNSUBSCRIBE
	reconnectPause = 100 * time.Millisecond
	refusedPause   = time.Minute            // how long a refusal to subscribe is remembered
	linger         = 250 * time.Millisecond // how long a topic without waiters stays subscribed, in case a waiter returns
)

// Times are the times of a subscriber that tests shorten.
type Times struct {
	Silence time.Duration // if no message arrives for this time, a PING checks the connection
}

var usual = Times{Silence: 30 * time.Second}

// run keeps a connection open while there are topics.
func (s *Subscriber) run(changed chan struct{}) {
	for s.connect(changed) && s.rest(changed) {
	}
}

// rest waits before the next connection is opened, and reports whether a topic still needs a connection.
func (s *Subscriber) rest(changed chan struct{}) bool {
	time.Sleep(reconnectPause/2 + rand.N(reconnectPause))
	for {
		left, wanted := s.left()
		if !wanted || left <= 0 {
			return wanted
		}
		timer := time.NewTimer(left)
		select {
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// left returns how long a refusal to subscribe is still remembered, and whether there is a topic. If there is no topic,
// run must end, because the next topic starts run again.
func (s *Subscriber) left() (refused time.Duration, wanted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(0)
	if len(s.topics) == 0 {
		s.changed = nil
		return 0, false
	}
	return s.refusedFor(), true
}

// connect opens one connection, and uses it until it breaks or there are no topics. It reports whether to open another
// connection.
func (s *Subscriber) connect(changed chan struct{}) (again bool) {
	conn := s.client.Subscribe(context.Background()) // connects on first use
	broken := make(chan struct{})
	var failure error // the result of listen; valid once broken is closed
	go func() {
		defer close(broken)
		failure = s.listen(conn)
	}()
	end := func(err error) {
		_ = conn.Close()
		<-broken
		for _, err := range []error{err, failure} {
			if err = Classify(err); driver.IsPermanent(err) {
				s.refuse(err)
			}
		}
		s.lose()
	}
	subscribed := make(map[string]*Topic)
	first := []string{s.own}
	if s.own == "" {
		first = nil
	}
	idle := time.NewTimer(linger)
	defer idle.Stop()
	for {
		add, drop, wanted := s.difference(subscribed)
		if !wanted {
			_ = conn.Close()
			<-broken
			return false
		}
		err := adjust(conn, append(first, add...), drop)
		if first = nil; err != nil {
			end(err)
			return true
		}
		select {
		case <-changed:
			idle.Reset(linger)
		case <-idle.C:
		case <-broken:
			end(nil)
			return true
		}
	}
}

// difference returns the channels to subscribe to and to unsubscribe from, and updates subscribed. If there are no
// topics, wanted is false and run must end, because the next topic starts run again.
func (s *Subscriber) difference(subscribed map[string]*Topic) (add, drop []string, wanted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(linger)
	if len(s.topics) == 0 {
		s.changed = nil
		return nil, nil, false
	}
	for channel, t := range subscribed {
		if s.topics[channel] != t {
			drop = append(drop, channel)
			delete(subscribed, channel)
		}
	}
	for channel, t := range s.topics {
		if subscribed[channel] == nil {
			add = append(add, channel)
			subscribed[channel] = t
		}
	}
	return add, drop, true
}

// adjust unsubscribes first, so that a channel that is in both lists ends up subscribed.
func adjust(conn *redis.PubSub, add, drop []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), subscribeLimit)
	defer cancel()
	if len(drop) > 0 {
		if err := conn.Unsubscribe(ctx, drop...); err != nil {
			return err
		}
	}
	if len(add) > 0 {
		return conn.Subscribe(ctx, add...)
	}
	return nil
}

// listen receives notifications and wakes waiters. It returns when the connection breaks, or when the server does not
// answer a PING. On a new connection, the confirmation of a subscription also wakes the waiters of its channel, because
// they may have missed earlier messages.
func (s *Subscriber) listen(conn *redis.PubSub) error {
	for asked := false; ; {
		limit := s.Times.Silence
		if asked {
			limit = pongLimit
		}
		message, err := conn.ReceiveTimeout(context.Background(), limit)
		var late net.Error
		switch {
		case err == nil:
			asked = false
		case errors.As(err, &late) && late.Timeout() && !asked:
			asked = true
			ctx, cancel := context.WithTimeout(context.Background(), pongLimit)
			err := conn.Ping(ctx)
			cancel()
			if err != nil {
				return err
			}
		default:
			return err
		}
		switch m := message.(type) {
		case *redis.Message:
			channel := m.Channel
			if channel == s.own {
				channel = m.Payload
				if second, later := strings.CutPrefix(channel, "next "); later {
					s.wakeLater(second)
					continue
				}
			}
			s.wake(channel, false)
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				s.wake(m.Channel, true)
			}
		}
	}
}
