package sqlite

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlitefile"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

const (
	// refreshWait bounds the refresh of a waiter's row: the next attempt can do it.
	refreshWait = 20 * time.Millisecond
	// leaveLimit bounds the deletion of a waiter's row when it gives up.
	leaveLimit = 100 * time.Millisecond
	// turnLimit bounds one look at a lock's row.
	turnLimit = time.Second
	// watchLinger is how long the file is watched after the last waiter has gone. A process that has released often waits again soon, and
	// the kernel takes ten milliseconds and more to close an inotify instance, which would delay the waiter that was granted the lock.
	watchLinger = 100 * time.Millisecond
)

// watchable reports that a file which another process writes shows it while it is open. On Windows
// the time of the last write can stay as it was until the file is closed.
const watchable = runtime.GOOS != "windows"

// waiters are the names for which this process waits by way of one backend. Each has a row in the table of waiters, where a release finds
// the one that has waited longest, and reserves the lock for it for 50 ms. While there are any, the backend watches the file, and after
// each change wakes the waiters that would be granted their lock.
type waiters struct {
	file *file

	mu          sync.Mutex
	byKey       map[driver.Key]*waiter
	stopWatch   context.CancelFunc // nil while the file is not watched
	unwatchable error              // why it could not be watched the last time
}

func newWaiters(f *file) *waiters {
	return &waiters{file: f, byKey: map[driver.Key]*waiter{}}
}

// of returns the waiter for key, or nil.
func (ws *waiters) of(key driver.Key) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.byKey[key]
}

// join adds a caller that waits for key, and writes the waiter's row. While another process writes the file, the row is left to the next
// refusal; a waiter without a row polls.
func (ws *waiters) join(ctx context.Context, key driver.Key, wake func()) (leave func(), err error) {
	id, err := ws.file.identity(ctx, sqlbase.LongRetry)
	if err != nil {
		return nil, err
	}
	w, caller := ws.add(key, wake, id.path)
	leave = func() { ws.leave(key, w, caller) }
	err = ws.writeRow(ctx, w, several, func(q sqlbase.Querier) error {
		if err := ws.upsertRow(ctx, q, key, w); err != nil {
			return err
		}
		_, err := q.Exec(ctx, ws.file.sql["forget_waiters"]) // of processes that have ended
		return err
	})
	if err != nil && (!sqlitefile.Busy(err) || ctx.Err() != nil) {
		leave()
		return nil, err
	}
	return sync.OnceFunc(leave), nil
}

func (ws *waiters) add(key driver.Key, wake func(), path string) (w *waiter, caller int) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w = ws.byKey[key]
	if w == nil {
		w = &waiter{id: driver.NewNonce().String(), callers: map[int]func(){}}
		ws.byKey[key] = w
		local.Store(w.id, w)
	}
	ws.watch(path)
	return w, w.add(wake)
}

// leave removes a caller. The last one of a name deletes the waiter's row, and the last one of all names ends the watching.
func (ws *waiters) leave(key driver.Key, w *waiter, caller int) {
	if !ws.remove(key, w, caller) || !w.hasRow() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	// If the row stays, releases pass over it 3 s later.
	_ = ws.file.write(ctx, writing{limit: leaveLimit, durability: unflushed}, func(q sqlbase.Querier) error {
		return ws.deleteRow(ctx, q, key, w)
	})
}

func (ws *waiters) remove(key driver.Key, w *waiter, caller int) (last bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if last = w.remove(caller); last {
		delete(ws.byKey, key)
		local.Delete(w.id)
	}
	if len(ws.byKey) == 0 && ws.stopWatch != nil {
		time.AfterFunc(watchLinger, ws.unwatch)
	}
	return last
}

// refused writes the row of a waiter that was refused, unless that was done lately. An error is not reported: the next attempt can do it.
func (ws *waiters) refused(ctx context.Context, key driver.Key, w *waiter) {
	if w == nil {
		return
	}
	limit := refreshWait
	switch w.state() {
	case fresh:
		return
	case absent: // the waiter has no place in the queue yet
		limit = writerWait
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_ = ws.writeRow(ctx, w, single, func(q sqlbase.Querier) error { return ws.upsertRow(ctx, q, key, w) })
}

// writeRow runs work, which writes the row of w, and notes the time.
func (ws *waiters) writeRow(ctx context.Context, w *waiter, n statements, work func(sqlbase.Querier) error) error {
	now := time.Now()
	err := ws.file.write(ctx, writing{limit: writerWait, durability: unflushed, statements: n}, work)
	if err == nil {
		w.rowWritten(now)
	}
	return err
}

// upsertRow inserts the waiter's row, or notes in it that the waiter still waits.
func (ws *waiters) upsertRow(ctx context.Context, q sqlbase.Querier, key driver.Key, w *waiter) error {
	_, err := q.Exec(ctx, ws.file.sql["wait"], key.Namespace, key.Name, w.id)
	return err
}

// deleteRow deletes the waiter's row, if it has one.
func (ws *waiters) deleteRow(ctx context.Context, q sqlbase.Querier, key driver.Key, w *waiter) error {
	if !w.hasRow() {
		return nil
	}
	_, err := q.Exec(ctx, ws.file.sql["leave"], key.Namespace, key.Name, w.id)
	return err
}

// watch starts to watch the file, if it is not watched and can be. A database in memory has no path; all that wait for its locks are in this
// process. The caller holds mu.
func (ws *waiters) watch(path string) {
	if ws.stopWatch != nil || path == "" || !watchable {
		return
	}
	if ws.unwatchable = sqlitefile.Watchable(path); ws.unwatchable != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ws.stopWatch = cancel
	go sqlitefile.Watch(ctx, path, func() { ws.wakeByTurn(ctx) })
}

// unwatch stops watching if there is no waiter.
func (ws *waiters) unwatch() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.stopWatch != nil && len(ws.byKey) == 0 {
		ws.stopWatch()
		ws.stopWatch = nil
	}
}

// warnings returns what weakens the notifications.
func (ws *waiters) warnings() []string {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.unwatchable == nil {
		return nil
	}
	return []string{fmt.Sprintf("the file of the database cannot be watched, so that waiters of other processes poll: %v", ws.unwatchable)}
}

// wakeByTurn wakes the waiters that would be granted their lock.
func (ws *waiters) wakeByTurn(ctx context.Context) {
	ws.mu.Lock()
	all := maps.Clone(ws.byKey)
	ws.mu.Unlock()
	for key, w := range all {
		if ws.isTurnOf(ctx, key, w) {
			w.wake()
		}
	}
}

func (ws *waiters) isTurnOf(ctx context.Context, key driver.Key, w *waiter) (turn bool) {
	ctx, cancel := context.WithTimeout(ctx, turnLimit)
	defer cancel()
	err := ws.file.read(ctx, turnLimit, func(q sqlbase.Querier) (err error) {
		turn, err = sqlbase.QueryOne(ctx, q, ws.file.sql["turn"], []any{key.Namespace, key.Name, w.id}, new(int))
		return err
	})
	return err == nil && turn
}
