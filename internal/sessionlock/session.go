package sessionlock

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Session is one connection and the locks that it holds. Only one goroutine at a time may use the connection.
// The right to use it is called the session's turn, and works like a mutex.
type Session[K comparable] struct {
	// If Broken is not nil, it is unknown which locks the connection holds. Broken is the reason for that. A broken
	// session ends when the goroutine that uses it calls Leave. Only that goroutine may use this field.
	Broken error

	store *Store[K]
	link  Link[K]
	turn  chan struct{} // the session's turn: a channel with capacity for one value, which is full while a goroutine uses the session
	ctx   context.Context
	end   context.CancelCauseFunc

	// Guarded by the store's mutex.
	holdings map[*Holding[K]]struct{}
	waiting  int // how many goroutines wait until they may use the session
	over     bool
	linger   *time.Timer // ends the session if it is idle; nil if the session was never idle
	watches  bool        // while no goroutine uses the session, the link notices if the connection ends
}

// newSession returns a session that nobody needs yet: an idle session, or else a new one. Only the caller may use the
// session, until it calls Leave. The caller holds mu.
func (s *Store[K]) newSession() *Session[K] {
	if se := s.reuse(); se != nil {
		return se
	}
	ctx, end := context.WithCancelCause(context.Background())
	se := &Session[K]{store: s, turn: make(chan struct{}, 1), ctx: ctx, end: end, holdings: map[*Holding[K]]struct{}{}}
	se.link = s.Link(se)
	se.turn <- struct{}{}
	return se
}

// Context returns a context that ends when the session ends.
func (se *Session[K]) Context() context.Context { return se.ctx }

// Has reports whether the function such returns true for a holding of the session. It checks granted holdings and
// running requests.
func (se *Session[K]) Has(such func(*Holding[K]) bool) bool {
	se.store.mu.Lock()
	defer se.store.mu.Unlock()
	for h := range se.holdings {
		if such(h) {
			return true
		}
	}
	return false
}

// answerLimit is how long a statement may continue after its caller has given up, if the session holds no other
// locks.
const answerLimit = 250 * time.Millisecond

// patience returns how long a statement may continue after its caller has given up. A healthy server answers soon, and
// the answer tells which locks the session holds. Without an answer the session must be closed, with all its locks. So
// if the session holds locks other than the one in the parameter about, patience returns the longest TTL of these
// locks. The result is at least answerLimit and at most a minute. Locks whose holder has called Release do not count.
func (se *Session[K]) patience(about *Holding[K]) time.Duration {
	d := answerLimit
	se.store.mu.Lock()
	defer se.store.mu.Unlock()
	for h := range se.holdings {
		if h != about && h.granted && !h.unwanted {
			d = max(d, min(h.grant.TTL, time.Minute))
		}
	}
	return d
}

// waitForAnswer returns when the statements of Run are done, which ends the context work, or when the time that the
// method patience returns is over.
func (se *Session[K]) waitForAnswer(work context.Context, about *Holding[K]) {
	looks := time.NewTicker(answerLimit)
	defer looks.Stop()
	for began := time.Now(); time.Since(began) < se.patience(about); {
		select {
		case <-looks.C:
		case <-work.Done():
			return
		}
	}
}

// Run calls the function work, which uses the connection, and then calls Leave. The caller must have reserved the
// session with Take, TryTake or anyTurn. Drivers close a connection when the context of a statement ends. So work gets
// a context that ends later than ctx, by the time that the method patience returns. The parameter about is the holding
// that work is for, or nil.
//
// If ctx ends first, Run returns and work continues in a goroutine. So work itself must record its result in the
// bookkeeping. Run needs no goroutine if work ends answerLimit after ctx at the latest. Run then waits for work, because
// each change of goroutine delays a statement.
func (se *Session[K]) Run(ctx context.Context, about *Holding[K], work func(ctx context.Context) error) error {
	if se.link.Watches() && se.patience(about) <= answerLimit {
		return se.run(ctx, about, work)
	}
	done := make(chan error, 1)
	go func() { done <- se.run(ctx, about, work) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	default:
		return ctx.Err()
	}
}

func (se *Session[K]) run(ctx context.Context, about *Holding[K], work func(ctx context.Context) error) error {
	defer se.Leave()
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		se.waitForAnswer(inner, about)
		cancel()
	})()
	se.link.Unwatch()
	err := se.ctx.Err()
	if err != nil {
		err = driver.NotApplied(ErrGone)
	} else {
		err = se.link.Connect(ctx)
	}
	switch {
	case err != nil && about != nil:
		se.store.abandon(about)
	case err == nil:
		err = work(inner)
		if err != nil && inner.Err() != nil { // the server has not answered in time, and ctx is the caller's reason
			return ctx.Err()
		}
	}
	return err
}

// remove takes se out of the list of sessions. The caller holds mu.
func (s *Store[K]) remove(se *Session[K]) {
	se.over = true
	if i := slices.Index(s.sessions, se); i >= 0 {
		s.sessions = slices.Delete(s.sessions, i, i+1)
	}
}

// Finish ends the session, drops all its holdings and closes the connection. No other goroutine may use
// the connection. The session stays reserved, so no goroutine can use it later.
// The session's context ends before the connection is closed, so holders learn of the loss before the server can
// grant their locks again.
func (se *Session[K]) Finish(cause error) {
	s := se.store
	s.mu.Lock()
	if se.over {
		s.mu.Unlock()
		return
	}
	s.remove(se)
	for h := range se.holdings {
		if h.releasing {
			s.released.add(h.grant, errEnding)
		}
		s.drop(h)
	}
	s.mu.Unlock()
	if cause == nil {
		cause = ErrGone
	}
	se.end(cause)
	se.link.Destroy()
}
