package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlhandle"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

const (
	earPrefix  = "rowlock-ear "   // the name of an ear's lock is this text and the last 12 digits of the id of its process
	earSleep   = 45 * time.Second // how long one statement of the ear sleeps at most; proxies often close connections after 50 s
	earLimit   = 5 * time.Second  // bounds each other statement of the ear, and how late the end of a sleep may be reported
	silentFor  = time.Minute      // how long waiters poll if releases do not call the ear
	mostMissed = 3                // after so many grants in a row without a call, waiters poll as if there was no ear
)

// ear wakes the waiters of this process. It keeps one connection outside the pool, which sleeps in a statement on the
// server. The connection holds a named lock, so that a release in another process can find it, and end the statement
// with KILL QUERY (call.sql). The ear's goroutine runs while there are waiters, and for [sqlbase.IdleLimit] afterwards.
type ear struct {
	lock   string                                 // the name of the lock that the connection holds
	open   func() *sql.DB                         // opens a handle of one connection; nil if it is unknown how the pool opens connections
	sleep  time.Duration                          // how long one statement sleeps
	server func(context.Context) (*server, error) // returns the statements of the server
	wake   func(called bool)                      // wakes the waiters; the parameter says whether a release has called the ear

	mu     sync.Mutex
	deaf   bool               // there is no connection, and the next attempt to open one will follow
	end    context.CancelFunc // ends the goroutine; nil if no goroutine runs for a waiter
	ended  chan struct{}      // closed when the goroutine has ended
	idle   *time.Timer        // ends the goroutine unless there is a waiter before; nil while there is a waiter
	missed int                // the number of grants in a row for which no release has called the ear
	until  time.Time          // until this time waiters poll as if there was no ear
}

func newEar(db *sql.DB, process string, server func(context.Context) (*server, error), wake func(called bool)) *ear {
	e := &ear{lock: earPrefix + process[24:], sleep: earSleep, server: server, wake: wake}
	if sqlhandle.Connector(db) != nil {
		e.open = func() *sql.DB { return sqlhandle.OpenOne(db, sqlbase.ConnectLimit) }
	}
	if limit := sqlhandle.ReadTimeout(db); limit > 0 {
		e.sleep = min(e.sleep, max(limit/2, limit-earLimit))
	}
	return e
}

// start starts the goroutine, unless it runs. It must be called for each new waiter.
func (e *ear) start() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.idle = nil
	if e.end != nil || e.open == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.end, e.ended = cancel, make(chan struct{})
	go e.run(ctx, e.ended)
}

// rest records that no waiter is left. The goroutine ends if no waiter comes within [sqlbase.IdleLimit].
func (e *ear) rest() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.end == nil {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(sqlbase.IdleLimit, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.idle == timer {
			e.stop()
		}
	})
	e.idle = timer
}

// stop makes the goroutine end. The caller holds mu.
func (e *ear) stop() {
	if e.end != nil {
		e.end()
	}
	if e.idle != nil {
		e.idle.Stop()
	}
	e.end, e.idle, e.deaf = nil, nil, false
}

// closeIdle ends the goroutine if there is no waiter. It returns when the connection is closed or ctx ends.
func (e *ear) closeIdle(ctx context.Context) {
	e.mu.Lock()
	if e.idle != nil {
		e.stop()
	}
	stopped, ended := e.end == nil, e.ended
	e.mu.Unlock()
	if ended == nil || !stopped {
		return
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// isCalled reports whether releases wake the waiters of this process, so that polls can be rare. That is not so after a
// grant for which no release has called the ear.
func (e *ear) isCalled() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open != nil && !e.deaf && e.missed == 0
}

// hears reports whether a release can wake the waiters of this process, as far as that is known.
func (e *ear) hears() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open != nil && !e.deaf && time.Now().After(e.until)
}

// granted records a grant to a waiter in the queue, and whether a release had called the ear before. If releases often
// fail to call the ear, waiters poll for a while as if there was no ear. That is so if the holders run an earlier
// version, or as another database user who may not end the ear's statement.
func (e *ear) granted(called bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if called {
		e.missed, e.until = 0, time.Time{}
		return
	}
	if e.missed++; e.missed%mostMissed == 0 {
		e.until = time.Now().Add(silentFor)
	}
}

// run serves one connection after another until ctx ends. Without a connection it wakes the waiters once, so that they
// poll more often.
func (e *ear) run(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	first := backoff.Backoff{Next: 100 * time.Millisecond, Most: time.Minute}
	for retry := first; ctx.Err() == nil; backoff.Sleep(ctx, retry.Step()) {
		if e.listen(ctx) {
			retry = first
		}
		if e.setDeaf(ctx, true) {
			e.wake(false)
		}
	}
}

// setDeaf sets the field deaf, unless ctx has ended: another goroutine may then serve the ear. It reports whether that
// has changed the field.
func (e *ear) setDeaf(ctx context.Context, deaf bool) (changed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if ctx.Err() == nil {
		changed, e.deaf = e.deaf != deaf, deaf
	}
	return changed
}

// listen opens a connection and sleeps on it until it fails or ctx ends. It reports whether a sleep has succeeded.
// When the connection is open, listen wakes the waiters, because earlier calls were lost.
func (e *ear) listen(ctx context.Context) (slept bool) {
	one := e.open()
	defer one.Close() // the connection is never used again, because it holds the ear's lock
	s, conn, sleep, err := e.begin(ctx, one)
	if err != nil {
		return false
	}
	defer conn.Close()
	e.setDeaf(ctx, false)
	e.wake(false)
	naps, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan struct{})
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		e.interrupt(s, ended)
		cancel()
	})
	for ; ctx.Err() == nil; slept = true {
		called, err := e.nap(naps, sleep)
		if err != nil {
			break
		}
		if called && ctx.Err() == nil {
			e.wake(true)
		}
	}
	close(ended)
	if !stop() {
		<-interrupted
	}
	return slept
}

// interrupt ends the sleep of this ear as a release does, and waits briefly until the channel ended is closed. If the
// connection were closed during a sleep, the server would keep its session, and the ear's lock, for some seconds.
func (e *ear) interrupt(s *server, ended <-chan struct{}) {
	number, err := strconv.ParseInt(strings.TrimPrefix(e.lock, earPrefix), 16, 64)
	if err != nil || s.call(context.Background(), number) != nil {
		return
	}
	select {
	case <-ended:
	case <-time.After(callLimit):
	}
}

var errEarTaken = errors.New("the connection of an earlier ear has not ended yet")

// begin opens a connection, acquires the ear's lock on it, and prepares the statement that sleeps.
func (e *ear) begin(ctx context.Context, one *sql.DB) (s *server, conn *sql.Conn, sleep *sql.Stmt, err error) {
	ctx, cancel := context.WithTimeout(ctx, earLimit)
	defer cancel()
	if s, err = e.server(ctx); err != nil {
		return nil, nil, nil, err
	}
	if conn, err = one.Conn(ctx); err != nil {
		return nil, nil, nil, err
	}
	var mine bool
	_, err = sqlbase.QueryOne(ctx, sqlbase.On(conn), s.sql["open_ear"], []any{e.lock}, &mine)
	if err == nil && !mine {
		err = errEarTaken
	}
	if err == nil {
		sleep, err = conn.PrepareContext(ctx, s.sql["sleep"])
	}
	if err != nil {
		_ = conn.Close()
		return nil, nil, nil, err
	}
	return s, conn, sleep, nil
}

// nap sleeps once, and reports whether a release has ended the sleep.
func (e *ear) nap(ctx context.Context, sleep *sql.Stmt) (called bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.sleep+earLimit)
	defer cancel()
	err = sleep.QueryRowContext(ctx, e.sleep.Seconds()).Scan(&called)
	if sqlerror.MySQL(err) == queryInterrupted {
		return true, nil
	}
	return called, err
}
