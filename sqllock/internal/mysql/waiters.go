package mysql

import (
	"context"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// leaveLimit bounds the statement that removes this process from a queue when its last waiter stops waiting.
const leaveLimit = time.Second

// waiters lists the locks for which this process waits. The row of a lock contains a queue of processes. Each process
// adds itself to the end of the queue, once. The first process of the queue confirms about once a second that it
// still waits. A release reserves the lock for that first process for 50 ms. So a process that has just released the
// lock cannot overtake the first process of the queue. Processes further back in the queue poll less often. A grant
// removes the process from the queue. If the first process has died, its reservation delays the others, at most three
// times. No process is notified, because neither server can notify a client unless one of the client's connections
// waits on the server.
type waiters struct {
	process string // a random id of this process and backend

	mu    sync.Mutex
	byKey map[driver.Key]*waiter
}

// waiter is a lock for which this process waits.
type waiter struct {
	callers int // the number of Notify calls whose stop function has not been called
	state   queueState
}

// queueState says whether this process may be in the queue of a lock's row.
type queueState int

const (
	unqueued queueState = iota // not in the queue: the process was not refused yet, or was granted the lock after the refusal
	queued                     // in the queue; or it is unknown, because wait.sql returned an error
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

// leave removes a caller. It returns true if this process must be removed from the queue. That is so if no caller is
// left and the process may be in the queue.
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

// After a refused acquire, enqueue adds this process to the queue of the lock, or confirms that the process still
// waits. It does not report an error, because a process that is not in the queue polls too.
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
// fails, releases may still reserve the lock for this process: at most three times, for 50 ms each.
func (ws *waiters) dequeue(ctx context.Context, s *server, key driver.Key) {
	namespace, name := encoded(key)
	me := ws.process
	_, _ = s.q.Exec(ctx, s.sql["leave"], s.skipLocked(key, []any{me, me, me, me, namespace, name, me})...)
}
