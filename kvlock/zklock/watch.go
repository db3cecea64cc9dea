package zklock

// watch returns a channel that is closed when something has happened to a node, or may have: it is
// the time to look. All who wait for one node share one watch, which stays when they leave, so that
// whoever comes again and again does not leave one each time.
func (s *session) watch(path string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watches[path]; w != nil {
		return w
	}
	w := make(chan struct{})
	s.watches[path] = w
	go func() {
		// Get, because it leaves no watch on a node that is not there. What the watch says comes as an event.
		if _, _, _, err := s.conn.GetW(path); err != nil {
			s.fire(path)
		}
	}()
	return w
}

// fire tells all who wait for a node.
func (s *session) fire(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watches[path]; w != nil {
		close(w)
		delete(s.watches, path)
	}
}
