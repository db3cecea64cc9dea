package sessionlock

import "context"

// anyTurn takes the turn of an idle session. If there is none it makes a new session, or, at the limit, waits for the
// session with the fewest waiters.
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
		if len(s.sessions) < s.Most-s.Waiting && len(s.sessions)+s.waits < s.Most {
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

// Take takes the turn of this session. It returns ErrGone if the session has ended.
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

// TryTake takes the turn if it is free.
func (se *Session[K]) TryTake() bool {
	select {
	case se.turn <- struct{}{}:
		return true
	default:
		return false
	}
}

// wait waits for the turn. The caller has counted itself in se.waiting.
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
	if err != nil && se.TryTake() { // perhaps the session was kept only because this goroutine waited
		se.link.Unwatch()
		se.Leave()
	}
	return err
}

// Leave gives up the turn. It also returns the connection if the session has no holdings and no goroutine waits for the
// turn.
func (se *Session[K]) Leave() {
	if se.Broken != nil || se.link.Ended() {
		se.Finish(se.Broken)
		return
	}
	if se.idleOrNext() { // the turn stays taken, so no goroutine finds this session any longer
		se.end(ErrGone)
		se.link.GiveBack()
	}
}

// idleOrNext removes a session that is not needed, or gives up the turn. Both are one step under the mutex: of two
// goroutines that leave at once, the second sees that it is the last.
func (se *Session[K]) idleOrNext() (idle bool) {
	s := se.store
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case se.over:
	case len(se.holdings) == 0 && se.waiting == 0:
		s.remove(se)
		return true
	default:
		if len(se.holdings) > 0 {
			se.link.Watch()
		}
		<-se.turn
	}
	return false
}
