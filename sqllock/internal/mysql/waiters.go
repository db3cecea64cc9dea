package mysql

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// leaveLimit bounds the statement that removes this process from a queue when its last waiter stops waiting.
const leaveLimit = time.Second

// waiters lists the locks for which this process waits. The row of a lock contains a queue of processes. Each process
// adds itself to the end of the queue, once. The first process of the queue counts as waiting for 35 seconds. Its polls
// extend that time. A release reserves the lock for that first process for 50 ms. So a process that has just released
// the lock cannot overtake the first process of the queue, and wakes it through the ear of that process. A grant removes
// the process from the queue. If the first process has died, its reservation delays the others, at most three times.
type waiters struct {
	process string // a random id of this process and backend
	ear     *ear

	mu    sync.Mutex
	byKey map[driver.Key]*waiter
}

// waiter is a lock for which this process waits.
type waiter struct {
	callers map[*caller]struct{} // not empty
	queued  bool                 // this process is in the queue of the lock's row; or it is unknown, because wait.sql returned an error
	called  call
}

// caller is a call of Notify whose stop function has not been called.
type caller struct{ wake func() }

// call says what the ear has heard since the last request of a waiter.
type call int

const (
	notCalled  call = iota
	mayConcern      // a release has called this process, which waits for several locks; or the ear has just been opened
	concerns        // a release has reserved the lock for this process
)

func newWaiters(db *sql.DB, server func(context.Context) (*server, error)) *waiters {
	ws := &waiters{process: driver.NewNonce().String(), byKey: map[driver.Key]*waiter{}}
	ws.ear = newEar(db, ws.process, server, ws.wake)
	return ws
}

// join adds a caller that waits for key.
func (ws *waiters) join(key driver.Key, c *caller) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.byKey[key] == nil {
		ws.byKey[key] = &waiter{callers: map[*caller]struct{}{}}
	}
	ws.byKey[key].callers[c] = struct{}{}
	ws.ear.start()
}

// leave removes a caller. It returns true if this process must be removed from the queue. That is so if no caller is
// left and the process may be in the queue.
func (ws *waiters) leave(key driver.Key, c *caller) (dequeue bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.byKey[key]
	delete(w.callers, c)
	if len(w.callers) > 0 {
		return false
	}
	delete(ws.byKey, key)
	if len(ws.byKey) == 0 {
		ws.ear.rest()
	}
	return w.queued
}

// wake wakes the callers for all locks, because the ear does not learn which lock a release has reserved. The parameter
// called is false if the ear has just been opened.
func (ws *waiters) wake(called bool) {
	ws.mu.Lock()
	what := mayConcern
	if called && len(ws.byKey) == 1 {
		what = concerns
	}
	var callers []*caller
	for _, w := range ws.byKey {
		w.called = what
		callers = slices.AppendSeq(callers, maps.Keys(w.callers))
	}
	ws.mu.Unlock()
	for _, c := range callers {
		c.wake()
	}
}

// takeCall returns what the ear has heard since the last request of a waiter for key.
func (ws *waiters) takeCall(key driver.Key) (what call) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w := ws.byKey[key]; w != nil {
		what, w.called = w.called, notCalled
	}
	return what
}

// granted records that a request was granted, which has removed this process from the queue. It reports whether this
// process may have been in the queue.
func (ws *waiters) granted(r driver.Request, what call) (wasQueued bool) {
	wasQueued = ws.setQueued(r.Key, false)
	if wasQueued && r.Waiting {
		ws.ear.granted(what != notCalled)
	}
	return wasQueued
}

// callNext wakes the first process of the queue. A process that has waited for a share does so after its grant, because
// the next process may wait for a share too, and no release wakes it while the lock is shared.
func (ws *waiters) callNext(ctx context.Context, s *server, key driver.Key) {
	q, _ := s.queue(ctx, key, 1)
	_ = s.call(ctx, q.ear)
}

// setQueued records whether this process may be in the queue, and returns what was recorded before.
func (ws *waiters) setQueued(key driver.Key, queued bool) (was bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w := ws.byKey[key]; w != nil {
		was, w.queued = w.queued, queued
	}
	return was
}

// listed reports whether the process will be woken when the lock may be free that was refused to the request r with the
// answer a. The parameter queued says that the process is in the queue. Nobody is woken at the end of a transaction that
// has locked the row. While readers hold the lock, a writer polls, because its requests keep later readers out. A reader
// polls, because a lock that is shared may become free for it without a release.
func (ws *waiters) listed(r driver.Request, a sqlbase.Answer, queued bool) bool {
	return queued && !r.Shared && a.Verdict != sqlbase.Contended && a.Readers == 0 && ws.ear.isCalled()
}

// mayEnqueue reports whether a refused request may add this process to the queue. A request of a waiter also confirms
// that the process still waits.
func (ws *waiters) mayEnqueue(r driver.Request) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.byKey[r.Key]
	return w != nil && (r.Waiting || !w.queued)
}

// After a refused acquire, enqueue adds this process to the queue of the lock, or confirms that the process still
// waits. It returns false if that failed, for example because the lock has become free. It does not report an error,
// because a process that is not in the queue polls too.
func (ws *waiters) enqueue(ctx context.Context, s *server, key driver.Key) (done bool) {
	namespace, name := encoded(key)
	me := ws.process
	r, err := s.q.Exec(ctx, s.sql["wait"], s.skipLocked(key, []any{me, me, me, me, me, namespace, name, me, me})...)
	if err != nil || r.Affected > 0 {
		ws.setQueued(key, true)
	}
	return err == nil && r.Affected > 0
}

// dequeue removes this process from the queue, so that no release reserves the lock for the process. If the lock was
// reserved for this process, the next process of the queue is woken. If dequeue fails, releases may still reserve the
// lock for this process: at most three times, for 50 ms each.
func (ws *waiters) dequeue(ctx context.Context, s *server, key driver.Key) {
	s.callFirst(ctx, key, s.leave(ctx, key, ws.process))
}
