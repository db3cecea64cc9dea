package mysqlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// session is one connection with the locks that live on it. Whoever has its turn uses the connection
// alone.
type session struct {
	backend *Backend
	turn    chan struct{} // holds one: taken
	ctx     context.Context
	end     context.CancelCauseFunc

	// Under the backend's lock.
	holdings map[*holding]struct{}
	waiting  int // for the turn
	over     bool

	// For whoever has the turn.
	conn    *conn // nil until it is needed
	watched bool
	broken  error // why the session cannot be trusted to be in the state that we think
}

// newSession makes a session whose turn is taken.
func newSession(b *Backend) *session {
	ctx, end := context.WithCancelCause(context.Background())
	se := &session{backend: b, turn: make(chan struct{}, 1), ctx: ctx, end: end, holdings: map[*holding]struct{}{}}
	se.turn <- struct{}{}
	return se
}

// anyTurn takes the turn of whichever session is idle, of a new one while there may be more, or of
// the one with the fewest in line.
func (b *Backend) anyTurn(ctx context.Context) (*session, error) {
	for {
		b.mu.Lock()
		var least *session
		for _, each := range b.sessions {
			select {
			case each.turn <- struct{}{}:
				b.mu.Unlock()
				return each, nil
			default:
			}
			if least == nil || each.waiting < least.waiting {
				least = each
			}
		}
		most := b.opts.sessions
		if len(b.sessions) < most-most/2 && len(b.sessions)+b.waits < most {
			fresh := newSession(b)
			b.sessions = append(b.sessions, fresh)
			b.mu.Unlock()
			return fresh, nil
		}
		least.waiting++
		b.mu.Unlock()
		if err := least.wait(ctx); err != errGone {
			return least, err
		}
	}
}

// take takes the turn of this session. The error is errGone when it has ended.
func (se *session) take(ctx context.Context) error {
	se.backend.mu.Lock()
	if se.over {
		se.backend.mu.Unlock()
		return errGone
	}
	se.waiting++
	se.backend.mu.Unlock()
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
	se.backend.mu.Lock()
	se.waiting--
	se.backend.mu.Unlock()
	if err != nil {
		select {
		case se.turn <- struct{}{}: // it may have waited for us, and have nothing else to do
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
	se.backend.mu.Lock()
	defer se.backend.mu.Unlock()
	for h := range se.holdings {
		if h != about && h.granted {
			d = max(d, min(h.grant.TTL, time.Minute))
		}
	}
	return d
}

// goodbye is how long an answer may take that nobody waits for.
const goodbye = 250 * time.Millisecond

// run does work on the connection, for one who has the turn, and gives the turn back. The driver
// closes a connection whose context ends, so work gets one that outlives ctx by the session's
// patience, and run returns ctx's error before work has ended. It must note what it did in the
// bookkeeping.
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
		err := se.ctx.Err()
		if err != nil {
			err = driver.NotApplied(errGone)
		} else {
			err = se.connect(ctx)
		}
		if err == nil {
			err = se.look(ctx)
		}
		if err == nil {
			err = work(inner)
		} else if about != nil {
			se.backend.abandon(about)
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

// look finds a connection that has ended since it was used last: what is not sent is not in doubt.
func (se *session) look(ctx context.Context) error {
	if err := se.conn.alive(ctx); err != nil {
		se.broken = errClosed
		return driver.NotApplied(errGone)
	}
	return nil
}

// leave gives the turn back, and the connection if nothing lives on it and nobody waits.
func (se *session) leave() {
	if se.broken != nil {
		se.finish(se.broken)
		return
	}
	b := se.backend
	b.mu.Lock()
	idle := len(se.holdings) == 0 && se.waiting == 0 && !se.over
	if idle {
		b.remove(se)
	}
	over := se.over
	b.mu.Unlock()
	switch {
	case idle: // the turn stays taken: nobody finds this session any more
		se.end(errGone)
		if se.conn != nil {
			se.conn.giveBack()
		}
	case !over:
		se.watch()
		<-se.turn
	}
}

// remove takes se off the list. The caller holds mu.
func (b *Backend) remove(se *session) {
	se.over = true
	for i, each := range b.sessions {
		if each == se {
			b.sessions = append(b.sessions[:i], b.sessions[i+1:]...)
			return
		}
	}
}

// finish ends the session and all that lives on it, for one who has its turn, which stays taken. Whoever
// trusted in it is told before the server can hear of it.
func (se *session) finish(cause error) {
	b := se.backend
	b.mu.Lock()
	if se.over {
		b.mu.Unlock()
		return
	}
	b.remove(se)
	for h := range se.holdings {
		if h.releasing {
			b.released.add(h.grant, errEnding)
		}
		b.drop(h)
	}
	b.mu.Unlock()
	se.end(cause)
	if se.conn != nil {
		se.conn.destroy()
	}
}
