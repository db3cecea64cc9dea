package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// ear is what the goroutine of waiters sends its statements through, and hears calls by. It is for one
// goroutine, but for poke.
type ear interface {
	Exec(ctx context.Context, statement string, args ...any) error
	// wait returns the payload of the next notification; it answers false at the deadline, or when it was poked.
	wait(until time.Time) (payload string, heard bool, err error)
	poke()
	close()
}

const (
	refreshEvery   = time.Second            // how often rows are told of; releases pass over those of 3 s ago
	sweepEvery     = time.Minute            // how often rows of the dead are looked for
	listenLimit    = 2 * time.Second        // for a statement of the listener
	helloLimit     = 5 * time.Second        // for a notification to oneself
	reconnectPause = 100 * time.Millisecond // before the next connection
	retryListening = time.Second            // after a connection could not be made
	retryMute      = time.Minute            // after a pooler has swallowed what was to be heard
	hello          = "hello"                // the payload to oneself
)

// start has the goroutine run. The caller holds mu.
func (s *waiters) start() {
	s.running, s.hasty, s.ended = true, false, make(chan struct{})
	kept := s.parked
	if kept != nil {
		s.unpark.Stop()
		s.parked = nil
	} else {
		s.hears, s.decided = false, make(chan struct{})
	}
	go s.run(kept, s.ended)
}

// run serves with one connection after the other until nobody waits.
func (s *waiters) run(e ear, ended chan<- struct{}) {
	defer close(ended)
	for {
		fresh := e == nil
		if fresh {
			e = s.listen()
		}
		s.mu.Lock()
		s.ear = e
		s.mu.Unlock()
		broken := s.serve(e, fresh)
		if !broken {
			return
		}
		s.mu.Lock()
		s.ear = nil
		s.mu.Unlock()
		e.close()
		e = nil
		time.Sleep(reconnectPause/2 + rand.N(reconnectPause))
	}
}

// listen opens a connection and listens on it. Without one the goroutine goes on deaf.
func (s *waiters) listen() ear {
	deaf := newDeaf(s.pg.q)
	s.mu.Lock()
	try := s.open != nil && !time.Now().Before(s.deafTill)
	s.mu.Unlock()
	if !try {
		return deaf
	}
	ctx, cancel := context.WithTimeout(context.Background(), sqlbase.ConnectLimit)
	defer cancel()
	channel := "rowlock_" + strings.ReplaceAll(driver.NewNonce().String(), "-", "")
	e, err := s.open(ctx)
	if err == nil {
		if err = e.Exec(ctx, s.pg.sql["alive"], channel); err == nil {
			err = e.Exec(ctx, `LISTEN "`+channel+`"`)
		}
		if err != nil {
			e.close()
		}
	}
	s.mu.Lock()
	s.pooled = errors.Is(err, errPooler)
	s.channel = channel
	s.mu.Unlock()
	switch {
	case err == nil:
		return e
	case errors.Is(err, errPooler), errors.Is(err, errDeaf):
		s.turnDeaf(retryMute)
	default:
		s.turnDeaf(retryListening)
	}
	return deaf
}

// turnDeaf has nobody listen for a while.
func (s *waiters) turnDeaf(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deafTill = time.Now().Add(d)
	s.unheard = d == retryMute
}

// decide lets first waiters go on. The caller holds mu.
func (s *waiters) decide() {
	select {
	case <-s.decided:
	default:
		close(s.decided)
	}
}

// serve works with one connection, and reports whether another is wanted.
func (s *waiters) serve(e ear, fresh bool) bool {
	_, isDeaf := e.(*deaf)
	var greetedBy time.Time // zero once a notification was heard
	if fresh && !isDeaf {
		greetedBy = time.Now().Add(helloLimit)
		s.mu.Lock()
		channel := s.channel
		s.mu.Unlock()
		go s.greet(channel)
	}
	if fresh && s.begin(e, !isDeaf) != nil {
		return true
	}
	for {
		w, done, kept := s.due(e, greetedBy.IsZero())
		if done {
			if !kept {
				e.close()
			}
			return false
		}
		if s.tell(e, w) != nil {
			return true
		}
		payload, heard, err := e.wait(s.nextRefresh())
		switch {
		case err != nil:
			return true
		case heard:
			greetedBy = time.Time{}
			if payload != hello {
				s.wake(parseCall(payload))
			}
		case !greetedBy.IsZero() && time.Now().After(greetedBy):
			s.turnDeaf(retryMute)
			return true
		case isDeaf && s.mayListen():
			return true
		}
	}
}

// begin lets first waiters go on. Those who were there before are told of anew, and woken: what came
// before this connection was not heard.
func (s *waiters) begin(e ear, hears bool) error {
	s.mu.Lock()
	s.hears = hears
	s.unheard = s.unheard && !hears
	s.decide()
	var w work
	s.ids(&w)
	s.renewed = time.Now()
	s.mu.Unlock()
	if len(w.stay) == 0 {
		return nil
	}
	err := s.tell(e, w)
	if hears {
		s.wake(call{})
	}
	return err
}

// greet notifies the listener by way of the pool: what comes from another session must be heard.
func (s *waiters) greet(channel string) {
	ctx, cancel := context.WithTimeout(context.Background(), helloLimit)
	defer cancel()
	_ = s.pg.Exec(ctx, "call", channel, hello) // without it, it is taken that nothing is heard
}

func (s *waiters) nextRefresh() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewed.Add(refreshEvery)
}

func (s *waiters) mayListen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open != nil && !time.Now().Before(s.deafTill)
}
