package mysql

import (
	"context"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// leaveLimit bounds what a waiter that gives up does for those that still wait.
const leaveLimit = time.Second

// waiters are the names for which this process waits. The row of a lock has a queue of processes: each writes itself into it once, behind
// those that are there. The first of the queue confirms about once a second that it still waits, and a release reserves the lock for it
// for 50 ms. So a process that has just released cannot overtake it, and those further back poll less often. A grant removes the process
// from the queue. A dead process at the front costs the others its reservation, three times at most.
//
// Nobody is notified: neither server can do so, unless a connection waits in it.
type waiters struct {
	process string // random, of this process and backend

	mu    sync.Mutex
	byKey map[driver.Key]*waiter
}

// waiter is a name for which this process waits.
type waiter struct {
	callers int // calls of Notify that have not been stopped
	state   queueState
}

// queueState is what this process knows of its entry in the queue of a lock's row.
type queueState int

const (
	unqueued queueState = iota // there is no entry: the process was not refused yet, or has been granted the lock since
	queued                     // there is an entry, or may be one because the statement got no answer
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

// leave removes a caller, and reports whether it was the last one and left an entry in the queue.
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

// granted notes that a grant has removed this process from the queue.
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

// enqueue writes this process into the queue of a lock that was refused, or confirms that it still waits. An error is not reported,
// because a process that is not in the queue polls all the same.
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

// dequeue removes this process from the queue, so that no release reserves the lock for it. If that fails, one release may do so, for
// 50 ms.
func (ws *waiters) dequeue(ctx context.Context, s *server, key driver.Key) {
	namespace, name := encoded(key)
	me := ws.process
	_, _ = s.q.Exec(ctx, s.sql["leave"], s.skipLocked(key, []any{me, me, me, me, namespace, name, me})...)
}
