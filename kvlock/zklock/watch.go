package zklock

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// watch is one on a node, which all share who wait for the node on this session.
type watch struct {
	set   chan struct{} // closed when it is there
	fired chan struct{} // closed when something has happened to the node, or may have: it is the time to look
	node  node          // to be read once set is closed
	err   error         // why it is not there; to be read once fired is closed

	// Guarded by session.mu. Connections are counted from one.
	stood   int // the connection on which the node was seen, the watch on it; zero if on none
	deleted int // the connection on which it was told that the node is gone, and on which it stood; zero if on none
}

// watch returns the watch on a node. It stays when those who wait leave, so that whoever comes again and
// again does not leave one each time.
func (s *session) watch(path string) *watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watches[path]; w != nil {
		return w
	}
	w := &watch{set: make(chan struct{}), fired: make(chan struct{})}
	s.watches[path] = w
	go s.request(w, path, s.connections)
	return w
}

// request asks for a watch, on the present connection if that lasts.
func (s *session) request(w *watch, path string, connection int) {
	answered := s.watchdog()
	// Get, because it leaves no watch on a node that is not there. What the watch says comes as an event.
	data, stat, _, err := s.conn.GetW(path)
	answered()
	if err != nil {
		s.fail(w, path, err)
		return
	}
	w.node = parseNode(data, stat)
	close(w.set)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connections == connection {
		w.stood = connection
	}
}

// fire tells all who wait for a node.
func (s *session) fire(path string, deleted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watches[path]
	if w == nil {
		return
	}
	if deleted && w.stood == s.connections { // else it may have been changed before, as a pause does, and we not told
		w.deleted = s.connections
	}
	close(w.fired)
	delete(s.watches, path)
}

// fail tells all who wait for a watch that it cannot be had.
func (s *session) fail(w *watch, path string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watches[path] == w {
		w.err = err
		close(w.fired)
		delete(s.watches, path)
	}
}

// refused is an error if a watch that has fired was refused: it is not to be asked for again.
func (w *watch) refused() error {
	if isAny(w.err, refusedFor) {
		return classify(w.err)
	}
	return nil
}

// outlived says whether it is certain that mine stood when other was deleted. On one connection the
// servers tell what they did in the order in which they did it, and so need not be asked.
func (s *session) outlived(mine, other *watch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-mine.fired:
		return false
	default:
		return other.deleted > 0 && other.deleted == mine.stood
	}
}

// holder tells who holds the lock, whose node it is that is watched; nil if that has just gone.
func (s *session) holder(ctx context.Context, w *watch) (*driver.Held, error) {
	select {
	case <-w.set:
		return w.node.holds(), nil
	case <-w.fired:
		return nil, w.refused()
	case <-s.ctx.Done():
		return nil, s.over()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// tell passes on what happened to a node.
func (s *session) tell(e zk.Event) { s.fire(e.Path, e.Type == zk.EventNodeDeleted) }
