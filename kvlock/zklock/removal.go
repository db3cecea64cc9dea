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

// remove starts to delete the entry's node, and retries in the background until it is certainly deleted. If the
// parameter done is not empty, it is a tick, which remove also records.
func (e *entry) remove(done string) *removal {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	if e.removal == nil {
		e.removal = &removal{done: make(chan struct{})}
		go e.delete(e.removal, done)
	}
	return e.removal
}

func (e *entry) delete(r *removal, done string) {
	defer close(r.done)
	<-e.created
	r.err = e.deleteNode(done)
	e.store.mu.Lock()
	if r.err == nil {
		e.store.released.put(ended{e.nonce, e.token}, struct{}{})
		if e.granted && !e.shared { // the queue is now empty, unless there was a later request
			e.store.versions.put(e.key, e.after)
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

func (e *entry) deleteNode(done string) error {
	if e.path == "" {
		return driver.ErrNotHeld
	}
	s, lost := e.session, false
	for {
		if s.ctx.Err() != nil {
			return endedBefore(lost, done)
		}
		answered := s.watchdog()
		err := e.deleteOnce(done)
		answered()
		switch {
		case errors.Is(err, zk.ErrNoNode) && lost && done != "":
			return e.hasRecorded()
		case err == nil, errors.Is(err, zk.ErrNoNode) && lost: // an earlier attempt, whose reply was lost, deleted the node
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return driver.ErrNotHeld
		case errors.Is(err, zk.ErrSessionExpired), s.ctx.Err() != nil:
			return endedBefore(lost, done)
		case isAny(err, refusedFor):
			return driver.Permanent(err)
		}
		lost = lost || ambiguous(err)
		backoff.Sleep(s.ctx, 10*time.Millisecond)
		if s.await(s.ctx) != nil {
			return endedBefore(lost, done)
		}
	}
}

func (e *entry) deleteOnce(done string) error {
	if done == "" {
		return e.session.conn.Delete(e.path, -1)
	}
	return e.deleteRecording(done)
}

// endedBefore returns the error of a release whose session ended before the servers answered. If the parameter lost is
// true, the reply to an earlier request of the release was lost. That request may have recorded the tick.
func endedBefore(lost bool, done string) error {
	if lost && done != "" {
		return errUnrecorded
	}
	return driver.ErrNotHeld
}
