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
	refreshEvery   = time.Second            // how often rows are written; releases pass over a row that is older than 3 s
	sweepEvery     = time.Minute            // how often the rows of dead processes are deleted
	listenLimit    = 2 * time.Second        // bounds a statement of the listener
	helloLimit     = 5 * time.Second        // bounds the wait for the listener's own notification
	reconnectPause = 100 * time.Millisecond // delay before the next connection
	retryListening = time.Second            // delay after a connection failed
	retryMute      = time.Minute            // delay after a pooler has swallowed the listener's own notification
	hello          = "hello"                // the payload of the listener's own notification
)

// listener writes the rows of waiters, and receives their notifications on a separate connection. A listener is a
// goroutine that runs while there are rows.
type listener struct {
	pg   *Backend
	open func(ctx context.Context) (ear, error) // nil if the driver has no connection that can listen

	mu      sync.Mutex
	state   listening
	ear     ear           // nil while there is no connection
	channel string        // the channel on which the ear listens
	decided chan struct{} // closed once it is known whether the first ear receives notifications
	ended   chan struct{} // closed when the running goroutine has ended
	unpark  *time.Timer
	keep    bool // keep an unused connection and unused rows for the next waiter

	silence  silence
	deafTill time.Time // no attempt to listen before this time
	written  time.Time // when the rows were last written
	swept    time.Time // when the rows of dead processes were last deleted
}

// listening is the state of a listener.
type listening int

const (
	listenOff        listening = iota // there is no waiter
	listenConnecting                  // the listener has no connection, or does not listen on its connection yet
	listenHearing                     // notifications arrive
	listenPolling                     // no notification arrives, and rows are written through the pool
	listenParked                      // there is no waiter, and a connection that listens is kept for the next waiter
)

// silence is the known reason why no notifications arrive.
type silence int

const (
	notSilent silence = iota // notifications arrive, or it is not known yet
	mute                     // the driver has no connection that can listen, or the listener's own notification did not arrive
	pooler                   // there is a pooler before the server
)

// start starts the goroutine.
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

// run serves one connection after another until there is no waiter.
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

// connect opens a connection and listens on it. If that fails, the goroutine continues without notifications.
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

// turnDeaf prevents attempts to listen for d.
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

// serve works with one connection, and reports whether to open another.
func (l *listener) serve(s *waiters, e ear, fresh bool) (another bool) {
	_, isDeaf := e.(*deaf)
	var greetedBy time.Time // zero once a notification has arrived
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

// begin lets the first waiters proceed. It writes the rows of earlier waiters again, and wakes these waiters, because
// notifications sent before this connection listened were lost.
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

// greet notifies the listener through the pool. Only a notification from another session proves that notifications
// arrive.
func (l *listener) greet() {
	l.mu.Lock()
	channel := l.channel
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), helloLimit)
	defer cancel()
	_ = l.pg.exec(ctx, "call", channel, hello) // if this fails, the listener assumes that no notifications arrive
}

// tick reports whether it is time to write the rows, whether to delete those of dead processes, and whether to keep
// rows for waiters that return.
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

// tell writes the rows that are due.
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

// poke makes the goroutine check at once whether it has work.
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

// heardOn returns the channel on which notifications arrive. The name is empty if no notification arrives.
func (l *listener) heardOn() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == listenHearing {
		return l.channel
	}
	return ""
}

// silent returns why no notifications arrive, as far as that is known before the first wait.
func (l *listener) silent() silence {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return mute
	}
	return l.silence
}

// isDecided returns a channel that is closed once it is known whether the first connection receives notifications.
func (l *listener) isDecided() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.decided
}

// end records that the goroutine ends. It reports whether e receives notifications and is kept for the next waiter for
// a while.
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

// closeParked closes e, unless a new waiter uses it.
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

// closeIdle closes the connection that is kept for the next waiter. If there is no waiter, the goroutine then keeps
// nothing. closeIdle returns when that is done or ctx ends.
func (l *listener) closeIdle(ctx context.Context, waits bool) {
	l.mu.Lock()
	state, e, ended := l.state, l.ear, l.ended
	if state != listenOff && state != listenParked {
		l.keep = false // applies also to waiters that are about to leave
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

// runs reports whether a connection listens or is about to.
func (l *listener) runs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state != listenOff
}

// grantedWord follows the id of a row in the notification of release_passing.sql if the release has granted the row's
// request.
const grantedWord = "granted"

// parse parses the notification of release.sql or release_passing.sql. Every role of the database may send such a
// text, so it is a hint. Only the row of the lock proves a grant.
func parse(payload string) (id string, what heard) {
	id, word, _ := strings.Cut(payload, " ")
	if word == grantedWord {
		return id, heardGrant
	}
	return id, heardCall
}
