package zklock

import (
	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// watch is a watch on a node. All waiters of the session that watch this node share it.
type watch struct {
	set   chan struct{} // closed when the watch is set
	fired chan struct{} // closed when the node has changed, or may have changed, so that waiters read the queue again
	data  []byte        // the content of the node, valid once set is closed
	stat  *zk.Stat      // valid once set is closed
	err   error         // why the servers refused the watch for good, so that a waiter does not request it again; valid once fired is closed
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
	go s.request(w, path)
	return w
}

// request sets a watch on a node.
func (s *session) request(w *watch, path string) {
	_, err := call(s, func(c *zk.Conn) (_ struct{}, err error) {
		// If the node is missing, GetW fails and sets no watch. Changes are reported to event, not through the returned
		// channel.
		w.data, w.stat, _, err = c.GetW(path)
		return struct{}{}, err
	})
	if err == nil {
		close(w.set)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watches[path] == w {
		if isAny(err, refusedFor) {
			w.err = driver.Permanent(err)
		}
		s.fire(path)
	}
}

// fire ends the watch on a node, and wakes all its waiters. The caller holds mu.
func (s *session) fire(path string) {
	if w := s.watches[path]; w != nil {
		close(w.fired)
		delete(s.watches, path)
	}
}
