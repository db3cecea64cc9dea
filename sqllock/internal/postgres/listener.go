package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

const (
	refreshEvery   = time.Second            // how often rows are written; releases pass over those of 3 s ago
	sweepEvery     = time.Minute            // how often rows of the dead are looked for
	listenLimit    = 2 * time.Second        // for a statement of the listener
	helloLimit     = 5 * time.Second        // for a notification to oneself
	reconnectPause = 100 * time.Millisecond // before the next connection
	retryListening = time.Second            // after a connection could not be made
	retryMute      = time.Minute            // after a pooler has swallowed what was to be heard
	hello          = "hello"                // the payload to oneself
)

// listener is the goroutine that writes the rows of those who wait and hears the notifications that call them, on a connection of its own.
// It runs while there are rows.
type listener struct {
	pg   *Backend
	open func(ctx context.Context) (ear, error) // nil if the driver lends nothing that hears

	mu      sync.Mutex
	state   listening
	ear     ear           // nil while there is none
	channel string        // of the ear
	decided chan struct{} // closed once it is known whether the first ear hears
	ended   chan struct{} // closed when the goroutine that runs has ended
	unpark  *time.Timer
	keep    bool // what is not used any more, for those who come back

	silence  silence
	deafTill time.Time // nobody tries to listen before
	written  time.Time // when the rows were last written
	swept    time.Time // when those of the dead were last forgotten
}

// listening is what a listener does.
type listening int

const (
	listenOff        listening = iota // nobody waits
	listenConnecting                  // it has no connection, or has not listened on it yet
	listenHearing                     // notifications arrive
	listenPolling                     // no notification arrives, and rows are written through the pool
	listenParked                      // nobody waits, and a connection that hears is kept for the next who does
)

// silence is why notifications are known not to arrive.
type silence int

const (
	notSilent silence = iota // they arrive, or it is not known yet
	mute                     // the driver lends no connection that hears, or what was sent did not arrive
	pooler                   // a pooler stands before the server
)

// start has the goroutine run.
func (l *listener) start(s *waiters) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep = true
	switch l.state {
	case listenOff:
		l.state, l.decided = listenConnecting, make(chan struct{})
	case listenParked:
		l.unpark.Stop()
		l.state = listenHearing
	default:
		return
	}
	l.ended = make(chan struct{})
	go l.run(s, l.ear, l.ended)
}

// run serves with one connection after the other until nobody waits.
func (l *listener) run(s *waiters, e ear, ended chan<- struct{}) {
	defer close(ended)
	for {
		fresh := e == nil
		if fresh {
			e = l.connect()
		}
		if !l.serve(s, e, fresh) {
			return
		}
		l.mu.Lock()
		l.state, l.ear = listenConnecting, nil
		l.mu.Unlock()
		e.close()
		e = nil
		time.Sleep(reconnectPause/2 + rand.N(reconnectPause))
	}
}

// connect opens a connection and listens on it. Without one the goroutine goes on deaf.
func (l *listener) connect() ear {
	e := ear(newDeaf(l.pg.q))
	if l.mayListen() {
		ctx, cancel := context.WithTimeout(context.Background(), sqlbase.ConnectLimit)
		defer cancel()
		channel := "rowlock_" + strings.ReplaceAll(driver.NewNonce().String(), "-", "")
		own, err := l.listen(ctx, channel)
		switch {
		case err == nil:
			e = own
		case errors.Is(err, errPooler):
			l.turnDeaf(pooler, retryMute)
		case errors.Is(err, errDeaf):
			l.turnDeaf(mute, retryMute)
		default:
			l.turnDeaf(notSilent, retryListening)
		}
		l.mu.Lock()
		l.channel = channel
		l.mu.Unlock()
	}
	l.mu.Lock()
	l.ear = e
	l.mu.Unlock()
	return e
}

func (l *listener) listen(ctx context.Context, channel string) (ear, error) {
	e, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	if err = e.exec(ctx, l.pg.sql["alive"], channel); err == nil {
		err = e.exec(ctx, `LISTEN "`+channel+`"`)
	}
	if err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// turnDeaf has nobody listen for a while.
func (l *listener) turnDeaf(why silence, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silence, l.deafTill = why, time.Now().Add(d)
}

func (l *listener) mayListen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open != nil && !time.Now().Before(l.deafTill)
}

// serve works with one connection, and reports whether another is wanted.
func (l *listener) serve(s *waiters, e ear, fresh bool) (another bool) {
	_, isDeaf := e.(*deaf)
	var greetedBy time.Time // zero once a notification was heard
	if fresh {
		if !isDeaf {
			greetedBy = time.Now().Add(helloLimit)
			go l.greet()
		}
		if l.begin(s, e, !isDeaf) != nil {
			return true
		}
	}
	for {
		tick, sweep, keep := l.tick()
		parks := false
		w, idle := s.due(tick, keep, func() { parks = l.end(e, greetedBy.IsZero()) })
		if idle {
			if !parks {
				e.close()
			}
			return false
		}
		w.sweep = sweep
		if l.tell(s, e, w) != nil {
			return true
		}
		payload, heard, err := e.wait(l.nextTick())
		switch {
		case err != nil:
			return true
		case heard:
			greetedBy = time.Time{}
			if payload != hello {
				s.hear(parse(payload))
			}
		case !greetedBy.IsZero() && time.Now().After(greetedBy):
			l.turnDeaf(mute, retryMute)
			return true
		case isDeaf && l.mayListen():
			return true
		}
	}
}

// begin lets first waiters go on. The rows of those who were there before are written anew, and they are woken: what came before this
// connection was not heard.
func (l *listener) begin(s *waiters, e ear, hears bool) error {
	l.mu.Lock()
	if hears {
		l.state, l.silence = listenHearing, notSilent
	} else {
		l.state = listenPolling
	}
	select {
	case <-l.decided:
	default:
		close(l.decided)
	}
	l.written = time.Now()
	l.mu.Unlock()
	w := s.again()
	if len(w.stay) == 0 {
		return nil
	}
	err := l.tell(s, e, w)
	if hears {
		s.hear("", heardCall)
	}
	return err
}

// greet notifies the listener by way of the pool: what comes from another session must be heard.
func (l *listener) greet() {
	l.mu.Lock()
	channel := l.channel
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), helloLimit)
	defer cancel()
	_ = l.pg.exec(ctx, "call", channel, hello) // without it, it is taken that nothing is heard
}

// tick reports whether it is time to write the rows, and to look for those of the dead, and whether rows are kept for who comes back.
func (l *listener) tick() (tick, sweep, keep bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if tick = now.Sub(l.written) >= refreshEvery; tick {
		l.written = now
	}
	return tick, tick && now.Sub(l.swept) >= sweepEvery, l.keep
}

func (l *listener) nextTick() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.Add(refreshEvery)
}

// tell writes what is due.
func (l *listener) tell(s *waiters, e ear, w work) error {
	ctx, cancel := context.WithTimeout(context.Background(), listenLimit)
	defer cancel()
	exec := func(verb string, args ...any) error {
		return l.pg.run(ctx, args, func(args []any) error { return e.exec(ctx, l.pg.sql[verb], args...) })
	}
	var err error
	if len(w.stay) > 0 {
		err = exec("wait", encodeRows(w.stay), l.heardOn(), int64(0))
		for _, r := range w.stay {
			<-r.writing
		}
	}
	if gone := slices.Concat(w.remove, w.dead); len(gone) > 0 && err == nil {
		err = exec("leave", encodeRows(gone))
	}
	s.done(w)
	if w.sweep && err == nil {
		l.mu.Lock()
		l.swept = time.Now()
		l.mu.Unlock()
		err = exec("forget_waiters")
	}
	return err
}

// poke has the goroutine look at once for what is to be done.
func (l *listener) poke() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ear != nil {
		l.ear.poke()
	}
}

// hears reports whether notifications arrive.
func (l *listener) hears() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == listenHearing
}

// heardOn is the channel on which notifications arrive; empty if they do not.
func (l *listener) heardOn() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == listenHearing {
		return l.channel
	}
	return ""
}

// silent is why nobody is called, as far as is known before anybody has waited.
func (l *listener) silent() silence {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return mute
	}
	return l.silence
}

// isDecided is closed once it is known whether the first connection hears.
func (l *listener) isDecided() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.decided
}

// end notes that the goroutine ends, and reports whether e, if it hears, is kept for the next waiter, for a while.
func (l *listener) end(e ear, greeted bool) (kept bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !greeted || l.state != listenHearing || !l.keep {
		l.state, l.ear = listenOff, nil
		return false
	}
	l.state = listenParked
	l.unpark = time.AfterFunc(sqlbase.IdleLimit, func() { l.closeParked(e) })
	return true
}

// closeParked closes e, unless somebody waits with it again.
func (l *listener) closeParked(e ear) {
	l.mu.Lock()
	mine := l.state == listenParked && l.ear == e
	if mine {
		l.unpark.Stop()
		l.state, l.ear = listenOff, nil
	}
	l.mu.Unlock()
	if mine {
		e.close()
	}
}

// closeIdle closes what is kept for the next waiter, and has the goroutine keep nothing if nobody waits. It returns when that is done or
// ctx ends.
func (l *listener) closeIdle(ctx context.Context, waits bool) {
	l.mu.Lock()
	state, e, ended := l.state, l.ear, l.ended
	if state != listenOff && state != listenParked {
		l.keep = false // also of those who are about to leave
		if e != nil {
			e.poke()
		}
	}
	l.mu.Unlock()
	switch {
	case state == listenParked:
		l.closeParked(e)
	case state != listenOff && !waits:
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
}

// runs reports whether there is a connection that listens, or is about to be.
func (l *listener) runs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state != listenOff
}

// grantedWord is what release_passing.sql writes behind the id of a row whose request it has granted.
const grantedWord = "granted"

// parse reads what release.sql and release_passing.sql notify. Every role of the database may send such a text, so it is a hint: the
// row of the lock proves a grant.
func parse(payload string) (id string, what heard) {
	id, word, _ := strings.Cut(payload, " ")
	if word == grantedWord {
		return id, heardGrant
	}
	return id, heardCall
}
