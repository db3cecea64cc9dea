package sessionlock

import "context"

// anyTurn reserves a session for the caller, until the caller calls Leave. It prefers an idle session. If no session
// is idle, it makes a new one. If the limit of sessions is reached, it waits for the session with the fewest waiting
// goroutines. If the only session waits in the server's queue, anyTurn ends that wait.
func (s *Store[K]) anyTurn(ctx context.Context) (*Session[K], error) {
	for {
		s.mu.Lock()
		var least *Session[K]
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
		if len(s.sessions) == 0 && len(s.waits) == s.Most {
			s.recall()
		}
		if len(s.sessions) < max(1, s.Most-s.Waiting) && len(s.sessions)+len(s.waits) < s.Most {
			fresh := s.newSession()
			s.sessions = append(s.sessions, fresh)
			s.mu.Unlock()
			return fresh, nil
		}
		least.waiting++
		s.mu.Unlock()
		if err := least.wait(ctx); err != ErrGone {
			return least, err
		}
	}
}

// Take reserves the session for the caller, so that no other goroutine uses the connection until Leave.
// It waits while another goroutine uses the session. It returns ErrGone if the session has ended.
func (se *Session[K]) Take(ctx context.Context) error {
	se.store.mu.Lock()
	if se.over {
		se.store.mu.Unlock()
		return ErrGone
	}
	se.waiting++
	se.store.mu.Unlock()
	return se.wait(ctx)
}

// TryTake reserves the session for the caller if no other goroutine uses it, and reports whether it did.
func (se *Session[K]) TryTake() bool {
	select {
	case se.turn <- struct{}{}:
		return true
	default:
		return false
	}
}

// wait waits until no other goroutine uses the session, and reserves it. The caller has counted itself in se.waiting.
func (se *Session[K]) wait(ctx context.Context) error {
	var err error
	select {
	case se.turn <- struct{}{}:
	case <-se.ctx.Done():
		err = ErrGone
	case <-ctx.Done():
		err = ctx.Err()
	}
	se.store.mu.Lock()
	se.waiting--
	se.store.mu.Unlock()
	if err != nil && se.TryTake() { // this goroutine waits no longer, so the session may now be unneeded; if it is, Leave returns its connection
		se.link.Unwatch()
		se.Leave()
	}
	return err
}

// Leave lets other goroutines use the session again. If the session is broken or its connection has ended,
// Leave ends the session. If the session has no holdings and no goroutine waits for it, Leave returns the connection
// to the pool, or makes the session idle for the time [Store].Linger.
func (se *Session[K]) Leave() {
	if se.Broken != nil || se.link.Ended() {
		se.Finish(se.Broken)
		return
	}
	if se.idleOrNext() { // the session stays reserved, so that no other goroutine uses it again
		se.retire()
	}
}

// idleOrNext removes a session that is no longer needed from the list of sessions. It returns true if the session must
// end now, because idle sessions are not kept. If the session is needed, idleOrNext lets the next goroutine use it. The mutex makes the check and the step atomic. If two goroutines leave at the same time, the second one
// sees that no other goroutine needs the session.
func (se *Session[K]) idleOrNext() (idle bool) {
	s := se.store
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case se.over:
	case len(se.holdings) == 0 && se.waiting == 0:
		s.remove(se)
		if s.Linger > 0 {
			s.keep(se)
		}
		return s.Linger == 0
	default:
		if len(se.holdings) > 0 {
			se.link.Watch()
		}
		<-se.turn
	}
	return false
}
