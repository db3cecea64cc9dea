package sessionlock

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Session is one connection with the locks that live on it. Whoever has its turn uses the connection
// alone.
type Session[K comparable] struct {
	// Broken is why the session cannot be trusted to be in the state that we think: it ends with the
	// turn. For whoever has that.
	Broken error

	store *Store[K]
	link  Link[K]
	turn  chan struct{} // holds one: taken
	ctx   context.Context
	end   context.CancelCauseFunc

	// Under the store's lock.
	holdings map[*Holding[K]]struct{}
	waiting  int // for the turn
	over     bool
	watches  bool // the end of the connection is noticed between turns
}

// newSession makes a session whose turn is taken.
func (s *Store[K]) newSession() *Session[K] {
	ctx, end := context.WithCancelCause(context.Background())
	se := &Session[K]{store: s, turn: make(chan struct{}, 1), ctx: ctx, end: end, holdings: map[*Holding[K]]struct{}{}}
	se.link = s.Link(se)
	se.turn <- struct{}{}
	return se
}

// Context ends with the session.
func (se *Session[K]) Context() context.Context { return se.ctx }

// Has reports whether any of what lives on the session, or is asked on it, is such.
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

// goodbye is how long an answer may take that nobody waits for.
const goodbye = 250 * time.Millisecond

// patience is how long a statement may go on when its caller has given up. The answer of a server
// that is alive comes soon, and keeps the bookkeeping exact. Where locks live on the session that the
// statement is not about, it is waited for as long as one of them may be trusted: until their releases are
// asked for, and at most the longest TTL, and a minute.
func (se *Session[K]) patience(about *Holding[K]) time.Duration {
	d := goodbye
	se.store.mu.Lock()
	defer se.store.mu.Unlock()
	for h := range se.holdings {
		if h != about && h.granted && !h.unwanted {
			d = max(d, min(h.grant.TTL, time.Minute))
		}
	}
	return d
}

// beWaitedFor returns when the session's patience is over, or the work.
func (se *Session[K]) beWaitedFor(work context.Context, about *Holding[K]) {
	looks := time.NewTicker(goodbye)
	defer looks.Stop()
	for began := time.Now(); time.Since(began) < se.patience(about); {
		select {
		case <-looks.C:
		case <-work.Done():
			return
		}
	}
}

// Run does work on the connection, for one who has the turn, and gives the turn back. Drivers close a
// connection whose context ends, so work gets one that outlives ctx by the session's patience, and Run
// returns ctx's error before work has ended. Work must note what it did in the bookkeeping. It is about
// one holding, or nil.
func (se *Session[K]) Run(ctx context.Context, about *Holding[K], work func(ctx context.Context) error) error {
	done := make(chan error, 1)
	go func() {
		inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
		stop := context.AfterFunc(ctx, func() {
			se.beWaitedFor(inner, about)
			cancel()
		})
		se.link.Unwatch()
		err := se.ctx.Err()
		if err != nil {
			err = driver.NotApplied(ErrGone)
		} else {
			err = se.link.Connect(ctx)
		}
		if err == nil {
			err = work(inner)
		} else if about != nil {
			se.store.abandon(about)
		}
		stop()
		cancel()
		se.Leave()
		done <- err
	}()
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

// remove takes se off the list. The caller holds mu.
func (s *Store[K]) remove(se *Session[K]) {
	se.over = true
	if i := slices.Index(s.sessions, se); i >= 0 {
		s.sessions = slices.Delete(s.sessions, i, i+1)
	}
}

// Finish ends the session and all that lives on it, for one who has the connection to himself. The
// turn stays taken. Whoever trusted in the session is told before the server can hear of it.
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
