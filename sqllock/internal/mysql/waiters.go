package mysql

import (
	"context"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// leaveLimit bounds the statement with which a waiter that gives up leaves the queue.
const leaveLimit = time.Second

// waiters lists the names for which this process waits. The row of a lock contains a queue of processes. Each process
// writes its entry once, behind the entries that are there. The first process of the queue confirms about once a
// second that it still waits. A release reserves the lock for that process for 50 ms. So a process that has just
// released cannot overtake the first of the queue, and processes further back poll less often. A grant removes the
// process from the queue. A dead process at the front delays the others by its reservation, at most three times. No
// process is notified, because neither server can notify a client without a connection that waits on the server.
type waiters struct {
	process string // a random id of this process and backend

	mu    sync.Mutex
	byKey map[driver.Key]*waiter
}

// waiter is a name for which this process waits.
type waiter struct {
	callers int // the number of Notify calls that have not been stopped
	state   queueState
}

// queueState is what this process knows of its entry in the queue of a lock's row.
type queueState int

const (
	unqueued queueState = iota // there is no entry: the process was not refused yet, or was granted the lock after the refusal
	queued                     // there is an entry, or may be an entry because the statement got no reply
)

func newWaiters() *waiters {
	return &waiters{process: driver.NewNonce().String(), byKey: map[driver.Key]*waiter{}}
}

// join adds a caller that waits for key.
func (ws *waiters) join(key driver.Key) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.byKey[key] == nil {
		ws.byKey[key] = new(waiter)
	}
	ws.byKey[key].callers++
}

// leave removes a caller. It reports whether the caller was the last one and the process still has an entry in the
// queue.
func (ws *waiters) leave(key driver.Key) (dequeue bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.byKey[key]
	if w.callers--; w.callers > 0 {
		return false
	}
	delete(ws.byKey, key)
	return w.state == queued
}

// granted records that a grant has removed this process from the queue.
func (ws *waiters) granted(key driver.Key) { ws.set(key, unqueued) }

func (ws *waiters) set(key driver.Key, state queueState) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w := ws.byKey[key]; w != nil {
		w.state = state
	}
}

func (ws *waiters) waitsFor(key driver.Key) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.byKey[key] != nil
}

// enqueue writes this process into the queue of a lock that was refused, or confirms that the process still waits. It
// does not report an error, because a process outside the queue polls too.
func (ws *waiters) enqueue(ctx context.Context, s *server, key driver.Key) {
	if !ws.waitsFor(key) {
		return
	}
	namespace, name := encoded(key)
	me := ws.process
	done, err := s.q.Exec(ctx, s.sql["wait"], s.skipLocked(key, []any{me, me, me, me, me, namespace, name, me, me})...)
	if err != nil || done.Affected > 0 {
		ws.set(key, queued)
	}
}

// dequeue removes this process from the queue, so that no release reserves the lock for the process. If dequeue
// fails, one release may still reserve the lock, for 50 ms.
func (ws *waiters) dequeue(ctx context.Context, s *server, key driver.Key) {
	namespace, name := encoded(key)
	me := ws.process
	_, _ = s.q.Exec(ctx, s.sql["leave"], s.skipLocked(key, []any{me, me, me, me, namespace, name, me})...)
}
