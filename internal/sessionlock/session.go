package sessionlock

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Session is one connection and the locks that it holds. It is used by one goroutine at a time: the one that has its
// turn.
type Session[K comparable] struct {
	// Broken is why the state of the session is unknown. Such a session ends with the current turn. Only the goroutine
	// that has the turn may use this field.
	Broken error

	store *Store[K]
	link  Link[K]
	turn  chan struct{} // has capacity for one, and is full while a goroutine has the turn
	ctx   context.Context
	end   context.CancelCauseFunc

	// Guarded by the store's mutex.
	holdings map[*Holding[K]]struct{}
	waiting  int // goroutines that wait for the turn
	over     bool
	watches  bool // the end of the connection is noticed between turns
}

// newSession makes a session. The caller has its turn.
func (s *Store[K]) newSession() *Session[K] {
	ctx, end := context.WithCancelCause(context.Background())
	se := &Session[K]{store: s, turn: make(chan struct{}, 1), ctx: ctx, end: end, holdings: map[*Holding[K]]struct{}{}}
	se.link = s.Link(se)
	se.turn <- struct{}{}
	return se
}

// Context returns a context that ends with the session.
func (se *Session[K]) Context() context.Context { return se.ctx }

// Has reports whether such is true for any holding of the session, granted or requested.
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

// answerLimit is how long the answer to a statement may take whose caller has given up.
const answerLimit = 250 * time.Millisecond

// patience is how long a statement may continue when its caller has given up. A healthy server answers soon, and the
// answer keeps the bookkeeping exact. If the session has other locks than about, patience is the longest of their TTLs,
// at most a minute. Locks whose release was requested do not count.
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

// waitForAnswer returns when work has ended, or when patience is over.
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

// Run calls work, which uses the connection, and then gives up the turn. The caller has the turn. Drivers close a
// connection whose context ends, so work gets a context that outlives ctx by patience. Run itself returns when ctx
// ends. work must record in the bookkeeping what it did. about is the holding that work is for, or nil.
func (se *Session[K]) Run(ctx context.Context, about *Holding[K], work func(ctx context.Context) error) error {
	done := make(chan error, 1)
	go func() {
		inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
		stop := context.AfterFunc(ctx, func() {
			se.waitForAnswer(inner, about)
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

// remove takes se out of the list of sessions. The caller holds mu.
func (s *Store[K]) remove(se *Session[K]) {
	se.over = true
	if i := slices.Index(s.sessions, se); i >= 0 {
		s.sessions = slices.Delete(s.sessions, i, i+1)
	}
}

// Finish ends the session and all its holdings. The caller has the connection to itself, and the turn is never given
// up. Holders are notified before the connection is closed, so before the server can grant their locks again.
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
