package sessionlock

import "context"

// anyTurn takes the turn of whichever session is idle, of a new one while there may be more, or of
// the one with the fewest in line.
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

// Take takes the turn of this session. The error is ErrGone when it has ended.
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

// TryTake takes the turn if nobody has it.
func (se *Session[K]) TryTake() bool {
	select {
	case se.turn <- struct{}{}:
		return true
	default:
		return false
	}
}

// wait is for one who is counted as waiting.
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
	if err != nil && se.TryTake() { // it may have waited for us, and have nothing else to do
		se.link.Unwatch()
		se.Leave()
	}
	return err
}

// Leave gives the turn back, and the connection if nothing lives on it and nobody waits.
func (se *Session[K]) Leave() {
	if se.Broken != nil || se.link.Ended() {
		se.Finish(se.Broken)
		return
	}
	if se.idleOrNext() { // the turn stays taken: nobody finds this session any more
		se.end(ErrGone)
		se.link.GiveBack()
	}
}

// idleOrNext takes a session off the list that nobody needs, or gives the turn to the next. Both are one step for those who
// wait for the turn: of two who let go at once, one sees that he is the last.
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
