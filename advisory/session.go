package advisory

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// session is one connection with the locks that live on it. Whoever has its turn uses the connection
// alone; between turns a goroutine reads from it, so that its end is noticed at once.
type session struct {
	store *store
	turn  chan struct{} // holds one: taken
	ctx   context.Context
	end   context.CancelCauseFunc

	// Under the store's lock.
	holdings map[*holding]struct{}
	waiting  int // for the turn
	over     bool
	watches  bool // the end of the connection is noticed between turns

	// For whoever has the turn.
	conn     conn // nil until it is needed
	pid      uint32
	timeline int64
	watched  chan struct{} // closed when nobody reads between turns any more; nil when nobody does
	broken   error         // why the session cannot be trusted to be in the state that we think
}

func newSession(s *store) *session {
	ctx, end := context.WithCancelCause(context.Background())
	return &session{store: s, turn: make(chan struct{}, 1), ctx: ctx, end: end, holdings: map[*holding]struct{}{}}
}

// anyTurn takes the turn of whichever session is idle, of a new one while there may be more, or of
// the one with the fewest in line.
func (s *store) anyTurn(ctx context.Context) (*session, error) {
	for {
		s.mu.Lock()
		var least *session
		for _, each := range s.sessions {
			select {
			case each.turn <- struct{}{}:
				s.mu.Unlock()
				return each, nil
			default:
			}
			if least == nil || each.waiting < least.waiting {
				least = each
			}
		}
		if len(s.sessions) < s.opts.sessions {
			fresh := newSession(s)
			fresh.turn <- struct{}{}
			s.sessions = append(s.sessions, fresh)
			s.mu.Unlock()
			return fresh, nil
		}
		least.waiting++
		s.mu.Unlock()
		if err := least.wait(ctx); err != errGone {
			return least, err
		}
	}
}

// take takes the turn of this session. The error is errGone when it has ended.
func (se *session) take(ctx context.Context) error {
	se.store.mu.Lock()
	if se.over {
		se.store.mu.Unlock()
		return errGone
	}
	se.waiting++
	se.store.mu.Unlock()
	return se.wait(ctx)
}

// wait is for one who is counted as waiting.
func (se *session) wait(ctx context.Context) error {
	var err error
	select {
	case se.turn <- struct{}{}:
	case <-se.ctx.Done():
		err = errGone
	case <-ctx.Done():
		err = ctx.Err()
	}
	se.store.mu.Lock()
	se.waiting--
	se.store.mu.Unlock()
	if err != nil {
		select {
		case se.turn <- struct{}{}: // it may have waited for us, and have nothing else to do
			se.unwatch()
			se.leave()
		default:
		}
	}
	return err
}

// patience is how long a statement may go on when its caller has given up. The answer of a server
// that is alive comes soon, and keeps the bookkeeping exact. Where locks live on the session that the
// statement is not about, it is waited for as long as one of them may be trusted: at most the longest
// TTL, and a minute.
func (se *session) patience(about *holding) time.Duration {
	d := goodbye
	se.store.mu.Lock()
	defer se.store.mu.Unlock()
	for h := range se.holdings {
		if h != about && h.granted {
			d = max(d, min(h.grant.TTL, time.Minute))
		}
	}
	return d
}

// run does work on the connection, for one who has the turn, and gives the turn back. work ends with
// the context that it is given, which outlives ctx by the session's patience; then run returns ctx's
// error before work has ended. It must note what it did in the bookkeeping.
func (se *session) run(ctx context.Context, about *holding, work func(ctx context.Context) error) error {
	done := make(chan error, 1)
	go func() {
		inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
		stop := context.AfterFunc(ctx, func() {
			timer := time.NewTimer(se.patience(about))
			defer timer.Stop()
			select {
			case <-timer.C:
				cancel()
			case <-inner.Done():
			}
		})
		se.unwatch()
		err := se.ctx.Err()
		if err != nil {
			err = driver.NotApplied(errGone)
		} else {
			err = se.connect(ctx)
		}
		if err == nil {
			err = work(inner)
		} else if about != nil {
			se.store.abandon(about)
		}
		stop()
		cancel()
		se.leave()
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

// query runs a statement. After an error the session may not be in the state that we think, unless
// the server has answered.
func (se *session) query(ctx context.Context, verb string, args []any, dest ...any) error {
	err := se.conn.query(ctx, se.pid == 0, se.store.sql[verb], args, dest...)
	if err != nil && !plain(ctx, se.conn, err) {
		se.broken = err
	}
	return err
}

// leave gives the turn back, and the connection if nothing lives on it and nobody waits.
func (se *session) leave() {
	if se.broken != nil || se.conn != nil && se.conn.closed() {
		se.finish(se.broken)
		return
	}
	se.store.mu.Lock()
	idle := len(se.holdings) == 0 && se.waiting == 0 && !se.over
	if idle {
		se.store.remove(se)
	}
	over, holds := se.over, len(se.holdings) > 0
	se.store.mu.Unlock()
	switch {
	case idle: // the turn stays taken: nobody finds this session any more
		se.end(errGone)
		if se.conn != nil {
			se.conn.giveBack()
		}
	case over:
	default:
		if holds {
			se.watch()
		}
		<-se.turn
	}
}

// remove takes se off the list. The caller holds mu.
func (s *store) remove(se *session) {
	se.over = true
	for i, each := range s.sessions {
		if each == se {
			s.sessions = append(s.sessions[:i], s.sessions[i+1:]...)
			return
		}
	}
}

// finish ends the session and all that lives on it, for one who has the connection to himself. The
// turn stays taken.
func (se *session) finish(cause error) {
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
		cause = errGone
	}
	se.end(cause)
	if se.conn != nil {
		se.conn.destroy()
	}
}
