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
	// refreshWait bounds the refresh of a waiter's row. If the refresh fails, the next refused attempt repeats it.
	refreshWait = 20 * time.Millisecond
	// leaveLimit bounds the deletion of the row of a waiter that stops waiting.
	leaveLimit = 100 * time.Millisecond
	// turnLimit bounds one read of a lock's row.
	turnLimit = time.Second
	// watchLinger is how long the file is still watched after the last waiter has left. A process that has released a
	// lock often waits again soon. Also, the kernel takes ten milliseconds or more to close an inotify instance,
	// which must not delay a waiter that was just granted the lock.
	watchLinger = 100 * time.Millisecond
)

// watchable is true if a process's write changes the attributes of the file before that process closes the file. On
// Windows the time of the last write may not change until the file is closed.
const watchable = runtime.GOOS != "windows"

// waiters lists the locks for which this process waits through one backend. Each waiter has a row in the table of
// waiters. A release chooses the waiter whose row is oldest, and reserves the lock for that waiter for 50 ms. While
// there are waiters, the backend watches the file. After each change of the file, the backend wakes the waiters whose
// lock is free or reserved for them.
type waiters struct {
	file *file

	mu          sync.Mutex
	byKey       map[driver.Key]*waiter
	stopWatch   context.CancelFunc // nil while the file is not watched
	unwatchable error              // why the last attempt to watch the file failed
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

// join adds a caller that waits for key, and writes the waiter's row. If the file is busy, the method returns no error:
// the next refused attempt writes the row, and until then the waiter polls.
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
		_, err := q.Exec(ctx, ws.file.sql["forget_waiters"]) // deletes the rows of processes that have ended
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

// leave removes a caller. If no other caller waits for key, the method deletes the waiter's row. If no caller waits for
// any key, the file is no longer watched after watchLinger.
func (ws *waiters) leave(key driver.Key, w *waiter, caller int) {
	if !ws.remove(key, w, caller) || !w.hasRow() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	// If the deletion fails, releases ignore the row 3 s after it was last written.
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

// refused writes the row of a waiter whose attempt was refused, unless the row was written recently. It does not
// report an error, because the next refused attempt writes the row.
func (ws *waiters) refused(ctx context.Context, key driver.Key, w *waiter) {
	if w == nil {
		return
	}
	limit := refreshWait
	switch w.state() {
	case fresh:
		return
	case absent: // the waiter is not in the queue yet, so this write may take longer
		limit = writerWait
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_ = ws.writeRow(ctx, w, single, func(q sqlbase.Querier) error { return ws.upsertRow(ctx, q, key, w) })
}

// writeRow runs the function work, which writes the row of w. After a success it records the time in w.
func (ws *waiters) writeRow(ctx context.Context, w *waiter, n statements, work func(sqlbase.Querier) error) error {
	now := time.Now()
	err := ws.file.write(ctx, writing{limit: writerWait, durability: unflushed, statements: n}, work)
	if err == nil {
		w.rowWritten(now)
	}
	return err
}

// upsertRow inserts the waiter's row, or records in the row that the waiter still waits.
func (ws *waiters) upsertRow(ctx context.Context, q sqlbase.Querier, key driver.Key, w *waiter) error {
	_, err := q.Exec(ctx, ws.file.sql["wait"], key.Namespace, key.Name, w.id)
	return err
}

// deleteRow deletes the waiter's row, if the waiter has a row.
func (ws *waiters) deleteRow(ctx context.Context, q sqlbase.Querier, key driver.Key, w *waiter) error {
	if !w.hasRow() {
		return nil
	}
	_, err := q.Exec(ctx, ws.file.sql["leave"], key.Namespace, key.Name, w.id)
	return err
}

// watch starts to watch the file, unless the file is watched already or cannot be watched. A database in memory has
// an empty path and needs no watch, because all waiters for its locks are in this process. The caller holds mu.
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

// warnings returns a warning if the file cannot be watched.
func (ws *waiters) warnings() []string {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.unwatchable == nil {
		return nil
	}
	return []string{fmt.Sprintf("the database file cannot be watched, so waiters poll for releases by other processes: %v", ws.unwatchable)}
}

// wakeByTurn wakes the waiters whose lock looks free or is reserved for them.
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
