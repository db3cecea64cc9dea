package redisbase

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
)

const (
	silence        = 2 * time.Second // without a message the server is asked whether it is there
	subscribeLimit = 5 * time.Second // for one change of what is subscribed to
	reconnectPause = 100 * time.Millisecond
	refusedPause   = time.Minute            // before a server that refused to subscribe this account is asked again
	linger         = 250 * time.Millisecond // a topic is kept for whoever comes again soon
)

// run keeps a connection for as long as there are topics.
func (s *Subscriber) run(changed chan struct{}) {
	for s.connect(changed) && s.rest(changed) {
	}
}

// rest waits before the next connection, and reports whether one is wanted.
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

// left is how long a refusal counts, and whether there is a topic. Without one, the next topic starts another run.
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

// connect runs one connection to its end, and reports whether it ended by itself.
func (s *Subscriber) connect(changed chan struct{}) (again bool) {
	conn := s.client.Subscribe(context.Background()) // connects with its first use
	broken := make(chan struct{})
	var failure error // of listen, once broken is closed
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
			end(nil)
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

// difference is what subscribed, which it brings up to date, lacks and has too much. When nothing is wanted, the next
// topic starts another run.
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

// adjust drops first: a channel that was left and is wanted again is subscribed in the end.
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

// listen wakes until the connection breaks, or is silent although it was asked for a word. A subscription
// that the server confirms wakes too: what came before it was not heard.
func (s *Subscriber) listen(conn *redis.PubSub) error {
	for asked := false; ; {
		message, err := conn.ReceiveTimeout(context.Background(), silence)
		var late net.Error
		switch {
		case err == nil:
			asked = false
		case errors.As(err, &late) && late.Timeout() && !asked:
			asked = true
			ctx, cancel := context.WithTimeout(context.Background(), silence)
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
			}
			s.wake(channel, false)
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				s.wake(m.Channel, true)
			}
		}
	}
}
