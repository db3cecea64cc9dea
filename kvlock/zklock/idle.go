package zklock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
)

var _ driver.Idler = (*Backend)(nil)

// isIdle reports whether s has no locks, no waiters and no running requests. The caller holds store.mu.
func (s *session) isIdle() bool {
	for _, e := range s.store.entries {
		if e.session == s {
			return false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asking == 0
}

// endIdle ends s if s was unused for linger. Otherwise it checks again later. It holds store.mu while it ends s, so
// that no lock is granted on an ending session. An acquisition that has already chosen s is retried on another session.
func (s *session) endIdle() {
	s.store.mu.Lock()
	left := s.store.linger - time.Since(s.used)
	if !s.isIdle() {
		left = s.store.linger
	}
	if left > 0 && s.ctx.Err() == nil {
		s.idle.Reset(left)
		s.store.mu.Unlock()
		return
	}
	s.end(errIdle)
	s.store.mu.Unlock()
	s.finish(errIdle)
}

// CloseIdle implements [driver.Idler]. It ends the sessions that hold no lock.
func (b *Backend) CloseIdle(ctx context.Context) {
	b.mu.Lock()
	var idle []*session
	for _, s := range b.places {
		if s.isIdle() {
			s.end(errIdle)
			idle = append(idle, s)
		}
	}
	b.mu.Unlock()
	for _, s := range idle {
		s.finish(errIdle)
	}
	for _, s := range idle {
		select {
		case <-s.ended:
		case <-ctx.Done():
			return
		}
	}
}
