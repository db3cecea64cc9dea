package postgres

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// work is what is to be written.
type work struct {
	stay, leave []waiterRow
	turns       []turn          // of those that stay
	gone        []chan struct{} // of those that leave
	sweep       bool
}

// due is what is to be written now. When nobody waits any more it ends the goroutine, and says whether e is kept.
func (s *waiters) due(e ear, greeted bool) (w work, done, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.topics)+len(s.leavers)+len(s.missing) == 0 {
		s.running = false
		return w, true, s.park(e, greeted)
	}
	now := time.Now()
	tick := now.Sub(s.renewed) >= refreshEvery
	if tick {
		s.ids(&w)
		s.renewed = now
		if w.sweep = now.Sub(s.swept) >= sweepEvery; w.sweep {
			s.swept = now
		}
	}
	for key, l := range s.leavers {
		if tick || s.hasty || !l.idle && !l.back {
			l.sent = true
			w.leave, w.gone = append(w.leave, rowOf(key, l.id)), append(w.gone, l.gone)
		}
	}
	for id, key := range s.missing {
		w.leave = append(w.leave, rowOf(key, id))
	}
	return w, false, false
}

// ids adds the rows that exist, by which whoever waits can be called again; not those that somebody writes now. The
// caller holds mu.
func (s *waiters) ids(w *work) {
	for key, t := range s.topics {
		if !t.known {
			continue
		}
		select {
		case t.turn <- struct{}{}:
			t.idle = false
			w.stay, w.turns = append(w.stay, rowOf(key, t.id)), append(w.turns, t.turn)
		default:
		}
	}
}

// tell writes what is due.
func (s *waiters) tell(e ear, w work) error {
	ctx, cancel := context.WithTimeout(context.Background(), listenLimit)
	defer cancel()
	exec := func(verb string, args ...any) error {
		return s.pg.run(ctx, args, func(args []any) error { return e.Exec(ctx, s.pg.sql[verb], args...) })
	}
	var err error
	if len(w.stay) > 0 {
		err = exec("wait", encodeWaiters(w.stay), s.heardOn(), int64(0))
		for _, turn := range w.turns {
			<-turn
		}
	}
	if len(w.leave) > 0 && err == nil {
		err = exec("leave", encodeWaiters(w.leave))
	}
	s.mu.Lock()
	for _, row := range w.leave { // if it failed, releases pass over the rows before long
		if l := s.leavers[driver.Key{Namespace: string(row.Namespace), Name: string(row.Name)}]; l != nil && l.id == row.ID {
			delete(s.leavers, driver.Key{Namespace: string(row.Namespace), Name: string(row.Name)})
		}
		delete(s.missing, row.ID)
	}
	for _, gone := range w.gone {
		close(gone)
	}
	s.mu.Unlock()
	if w.sweep && err == nil {
		err = exec("forget_waiters")
	}
	return err
}
