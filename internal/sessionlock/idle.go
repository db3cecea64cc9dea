package sessionlock

import (
	"slices"
	"time"
)

// An idle session holds no lock, and no goroutine waits for it. It keeps its connection for the time [Store].Linger, so
// that the next request need not borrow, check and prepare a connection again. It stays reserved, as a new session is.

// keep makes se idle. The caller holds mu and has reserved se.
func (s *Store[K]) keep(se *Session[K]) {
	s.idle = append(s.idle, se)
	if se.linger == nil {
		se.linger = time.AfterFunc(s.Linger, func() {
			if s.expired(se) {
				se.retire()
			}
		})
	} else {
		se.linger.Reset(s.Linger)
	}
}

// reuse returns the session that became idle last, or nil if no session is idle. The caller holds mu.
func (s *Store[K]) reuse() *Session[K] {
	if len(s.idle) == 0 {
		return nil
	}
	se := s.idle[len(s.idle)-1]
	s.idle = s.idle[:len(s.idle)-1]
	se.linger.Stop()
	se.over = false
	return se
}

// expired takes se out of the list of idle sessions, and reports whether it was in that list.
func (s *Store[K]) expired(se *Session[K]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.idle, se)
	if i < 0 {
		return false
	}
	s.idle = slices.Delete(s.idle, i, i+1)
	return true
}

// retire ends a session that holds no lock, and returns its connection to the pool. The session stays reserved.
func (se *Session[K]) retire() {
	se.end(ErrGone)
	se.link.GiveBack()
}
