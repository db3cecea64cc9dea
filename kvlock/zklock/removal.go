package zklock

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
)

// removal is the deletion of an entry.
type removal struct {
	done chan struct{}
	err  error // driver.ErrNotHeld if there was no node; valid once done is closed
}

type ended struct {
	nonce driver.Nonce
	token driver.Token
}

// remove starts to delete the entry's node, and retries in the background until it is certainly deleted.
func (e *entry) remove() *removal {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	if e.removal == nil {
		e.removal = &removal{done: make(chan struct{})}
		go e.delete(e.removal)
	}
	return e.removal
}

func (e *entry) delete(r *removal) {
	defer close(r.done)
	<-e.created
	r.err = e.deleteNode()
	e.store.mu.Lock()
	if r.err == nil {
		e.store.released.put(ended{e.nonce, e.token}, struct{}{})
		if e.granted && !e.shared { // the queue is now empty, unless there was a later request
			e.store.versions.put(e.key, e.version)
		}
	}
	if driver.IsPermanent(r.err) { // the node still exists, so a later call may start the deletion again
		e.removal = nil
	}
	e.store.mu.Unlock()
	if !driver.IsPermanent(r.err) {
		e.forget()
	}
}

func (e *entry) deleteNode() error {
	if e.path == "" {
		return driver.ErrNotHeld
	}
	s, lost := e.session, false
	for {
		if s.ctx.Err() != nil {
			return driver.ErrNotHeld
		}
		answered := s.watchdog()
		err := s.conn.Delete(e.path, -1)
		answered()
		switch {
		case err == nil, errors.Is(err, zk.ErrNoNode) && lost: // an earlier attempt, whose reply was lost, deleted the node
			return nil
		case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrSessionExpired), s.ctx.Err() != nil:
			return driver.ErrNotHeld
		case isAny(err, refusedFor):
			return driver.Permanent(err)
		}
		lost = lost || ambiguous(err)
		backoff.Sleep(s.ctx, 10*time.Millisecond)
		if s.await(s.ctx) != nil {
			return driver.ErrNotHeld
		}
	}
}
