package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// times are the intervals and limits of a listener. Only tests change them.
type times struct {
	tick      time.Duration // how often rows are written whose waiters poll; a release ignores such a row if it was not written in the last 3 s
	sweep     time.Duration // how often the rows of dead processes are deleted
	statement time.Duration // the longest time for a statement of the listener
	hello     time.Duration // the longest wait for the notification that the listener sends to itself
	reconnect time.Duration // mean delay before the next connection is opened
	retry     time.Duration // delay before the next attempt to listen, if a connection failed
	retryMute time.Duration // delay before the next attempt to listen, if the process cannot receive notifications
	idle      time.Duration // how long a listening connection is kept without a waiter
}

var usualTimes = times{
	tick:      time.Second,
	sweep:     time.Minute,
	statement: 2 * time.Second,
	hello:     5 * time.Second,
	reconnect: 100 * time.Millisecond,
	retry:     time.Second,
	retryMute: time.Minute,
	idle:      sqlbase.IdleLimit,
}

const (
	listedEvery = 30 * time.Second // how often rows are written whose waiters rely on notifications; a release ignores such a row if it was not written in the last 35 s
	hello       = "hello"          // the payload of the notification that the listener sends to itself
)

// listener writes the rows of waiters, and receives notifications for them on a separate connection. Its goroutine
// runs while there are rows.
type listener struct {
	pg    *Backend
	open  func(ctx context.Context) (ear, error) // nil if the driver cannot receive notifications
	times times

	mu      sync.Mutex
	state   listening
	ear     ear           // nil while there is no connection
	channel string        // the name of the channel on which ear listens
	decided chan struct{} // closed once it is known whether the first connection listens
	ended   chan struct{} // closed when the running goroutine has ended
	unpark  *time.Timer
	keep    bool // whether to keep an unused connection and unused rows for the next waiter

	silence  silence
	deafTill time.Time // no attempt to listen before this time
	ticked   time.Time // when the last tick was
	swept    time.Time // when the rows of dead processes were last deleted
}

// listening is the state of a listener.
type listening int

const (
	listenOff        listening = iota // there is no waiter
	listenConnecting                  // the listener has no connection yet, or its connection does not listen yet
	listenHearing                     // notifications arrive
	listenPolling                     // no notifications arrive, and the rows are written through the pool
	listenParked                      // there is no waiter, and the listening connection is kept for the next waiter
)

// silence is the reason, if known, why no notifications arrive.
type silence int

const (
	notSilent silence = iota // notifications arrive, or it is not known yet
	mute                     // the driver cannot receive notifications, or the notification that the listener sent to itself did not arrive
	pooler                   // there is a pooler between this process and the server
)

// start starts the listener's goroutine, unless it runs.
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
		s.hear("", heardCall) // from now on, the waiters poll often
		e.close()
		e = nil
		time.Sleep(l.times.reconnect/2 + rand.N(l.times.reconnect))
	}
}

// connect opens a connection and listens on it. If that fails, or listening is not allowed now, connect returns a
// deaf ear, which uses the pool and receives no notifications.
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
			l.turnDeaf(pooler, l.times.retryMute)
		case errors.Is(err, errDeaf):
			l.turnDeaf(mute, l.times.retryMute)
		default:
			l.turnDeaf(notSilent, l.times.retry)
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

// turnDeaf prevents attempts to listen until the duration d has passed.
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

// serve writes rows and receives notifications on one connection. It returns true if a new connection must be opened,
// and false if there are no rows any longer.
func (l *listener) serve(s *waiters, e ear, fresh bool) (another bool) {
	_, isDeaf := e.(*deaf)
	var greetedBy time.Time // the deadline for the first notification; zero if one has arrived or none is expected
	if fresh {
		if !isDeaf {
			greetedBy = time.Now().Add(l.times.hello)
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
			l.turnDeaf(mute, l.times.retryMute)
			return true
		case isDeaf && l.mayListen():
			return true
		}
	}
}

// begin records whether the connection listens, so that Notify stops waiting for that decision. It writes the rows of
// earlier waiters again. If the connection listens, the method also wakes these waiters, because notifications before
// that moment were lost.
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
	l.ticked = time.Now()
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

// greet sends a notification to the listener through the pool. Only a notification from another session proves that
// the listener receives notifications.
func (l *listener) greet() {
	l.mu.Lock()
	channel := l.channel
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), l.times.hello)
	defer cancel()
	_ = l.pg.exec(ctx, "call", channel, hello) // if this fails, the listener assumes that no notifications arrive
}

// tick reports whether it is time to look for rows to write, whether to delete the rows of dead processes, and whether
// to keep unused rows for the next waiter.
func (l *listener) tick() (tick, sweep, keep bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if tick = now.Sub(l.ticked) >= l.times.tick; tick {
		l.ticked = now
	}
	return tick, tick && now.Sub(l.swept) >= l.times.sweep, l.keep
}

func (l *listener) nextTick() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ticked.Add(l.times.tick)
}

// tell executes the writes in w: it writes and deletes rows of waiters.
func (l *listener) tell(s *waiters, e ear, w work) error {
	ctx, cancel := context.WithTimeout(context.Background(), l.times.statement)
	defer cancel()
	exec := func(verb string, args ...any) error {
		return l.pg.run(ctx, args, func(args []any) error { return e.exec(ctx, l.pg.sql[verb], args...) })
	}
	var err error
	if len(w.stay) > 0 {
		channel := l.heardOn()
		err = exec("wait", encodeRows(w.stay), channel, sqlbase.Flag(channel != ""))
		for _, r := range w.stay {
			<-r.writing
		}
	}
	if len(w.remove) > 0 && err == nil {
		err = exec("leave", encodeRows(w.remove))
	}
	for _, r := range w.remove {
		close(r.gone) // also after a failed deletion, because releases ignore the row after 3 s
	}
	if w.sweep && err == nil {
		l.mu.Lock()
		l.swept = time.Now()
		l.mu.Unlock()
		err = exec("forget_waiters")
	}
	return err
}

// poke makes the listener's goroutine check at once whether it has rows to write or delete.
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

// heardOn returns the channel on which notifications arrive, or an empty text if no notifications arrive.
func (l *listener) heardOn() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == listenHearing {
		return l.channel
	}
	return ""
}

// silent returns why no notifications arrive, as far as that is known.
func (l *listener) silent() silence {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return mute
	}
	return l.silence
}

// isDecided returns a channel that is closed once it is known whether the first connection listens.
func (l *listener) isDecided() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.decided
}

// end records that the listener's goroutine ends. The result kept reports that e receives notifications and stays open
// for the next waiter. The connection is closed after a while without a waiter. The parameter greeted says
// whether a notification has arrived on e.
func (l *listener) end(e ear, greeted bool) (kept bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !greeted || l.state != listenHearing || !l.keep {
		l.state, l.ear = listenOff, nil
		return false
	}
	l.state = listenParked
	l.unpark = time.AfterFunc(l.times.idle, func() { l.closeParked(e) })
	return true
}

// closeParked closes e, unless a new waiter already uses e.
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

// closeIdle closes the connection that is kept for the next waiter. If there is no waiter but the goroutine still
// runs, closeIdle makes it delete all rows and close its connection. closeIdle returns when that is done or ctx ends.
// The parameter waits says whether there are waiters.
func (l *listener) closeIdle(ctx context.Context, waits bool) {
	l.mu.Lock()
	state, e, ended := l.state, l.ear, l.ended
	if state != listenOff && state != listenParked {
		l.keep = false // from now on, no unused connection and no unused row is kept for the next waiter
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

// runs reports whether the listener's goroutine runs or its connection is kept for the next waiter.
func (l *listener) runs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state != listenOff
}
