package zklock

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// watch is a watch on a node. All waiters of the session that wait for this node share the watch.
type watch struct {
	set   chan struct{} // closed when the watch is set
	fired chan struct{} // closed when the node has changed, or may have changed, so that waiters read the queue again
	node  node          // valid once set is closed
	err   error         // why the watch could not be set; valid once fired is closed

	// Guarded by session.mu. Connections are numbered from one.
	stood   int // the connection on which the node was read and the watch was set; 0 if unknown
	deleted int // the connection that reported the node's deletion, if the watch was set on that connection; otherwise 0
}

// watch returns the watch on a node, and sets it if there is none. The watch stays when its waiters leave. So repeated
// waits use one watch, and do not each leave a watch behind.
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

// request sets a watch on a node. It sets w.stood only if the session still has the same connection afterwards.
func (s *session) request(w *watch, path string, connection int) {
	answered := s.watchdog()
	// If the node is missing, GetW fails and sets no watch. Changes are reported to event, not through the returned
	// channel.
	data, stat, _, err := s.conn.GetW(path)
	answered()
	if err != nil {
		s.fail(w, path, err)
		return
	}
	w.node = parseNode(path, data, stat)
	close(w.set)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connections == connection {
		w.stood = connection
	}
}

// fire ends the watch on a node, and wakes all its waiters.
func (s *session) fire(path string, deleted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watches[path]
	if w == nil {
		return
	}
	if deleted && w.stood == s.connections { // on another connection, an earlier change of the node, such as a pause, may not have been reported
		w.deleted = s.connections
	}
	close(w.fired)
	delete(s.watches, path)
}

// fail ends a watch that could not be set, and wakes all its waiters.
func (s *session) fail(w *watch, path string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watches[path] == w {
		w.err = err
		close(w.fired)
		delete(s.watches, path)
	}
}

// refused returns an error if the servers refused the watch for good, so that a waiter does not request it again.
func (w *watch) refused() error {
	if isAny(w.err, refusedFor) {
		return classify(w.err)
	}
	return nil
}

// outlived reports whether the node of the watch a certainly existed when the node of the watch b was deleted. On one
// connection, the servers send events in the order in which they happened, so no request is needed.
func (s *session) outlived(a, b *watch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-a.fired:
		return false
	default:
		return b.deleted > 0 && b.deleted == a.stood
	}
}

// holder describes the holder of the lock, whose node w watches. It returns nil if that node was just deleted.
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

// tell reports an event of a node to the waiters of that node.
func (s *session) tell(e zk.Event) { s.fire(e.Path, e.Type == zk.EventNodeDeleted) }
