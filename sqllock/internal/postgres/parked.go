package postgres

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// park keeps a connection that hears for the next waiter, for a while. The caller holds mu.
func (s *waiters) park(e ear, greeted bool) (kept bool) {
	if !greeted || !s.hears || s.hasty {
		return false
	}
	s.parked = e
	s.unpark = time.AfterFunc(sqlbase.IdleLimit, func() { s.closeParked(e) })
	return true
}

// closeParked closes e, unless somebody waits with it again.
func (s *waiters) closeParked(e ear) {
	s.mu.Lock()
	mine := s.parked == e
	if mine {
		s.parked = nil
	}
	s.mu.Unlock()
	if mine {
		e.close()
	}
}

// CloseIdle implements [driver.Idler].
func (p *Backend) CloseIdle(ctx context.Context) {
	s := &p.waiters
	s.mu.Lock()
	running, waited, ended, parked := s.running, len(s.topics) > 0, s.ended, s.parked
	if parked != nil {
		s.unpark.Stop()
	}
	if running {
		s.hasty = true // also for those who are about to leave
		s.hurry()
	}
	s.mu.Unlock()
	switch {
	case running && !waited:
		select {
		case <-ended:
		case <-ctx.Done():
		}
	case parked != nil:
		s.closeParked(parked)
	}
	p.reserve.CloseIdle(ctx)
}

// Listens reports whether there is a connection that listens, or is about to be, and whether there is a row of a waiter.
func (p *Backend) Listens() (listens, rows bool) {
	s := &p.waiters
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running || s.parked != nil, len(s.topics)+len(s.leavers) > 0
}
