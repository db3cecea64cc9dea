package sqlite

import (
	"sync"
	"time"
)

// waiter represents all callers of this process that wait for one lock through one backend. A nil waiter means that
// no caller waits.
type waiter struct {
	id string // random

	mu      sync.Mutex
	callers map[int]func() // the wake functions of the callers, keyed by caller number
	next    int
	written time.Time // when the waiter's row was last written; zero while there is no row
}

// refreshEvery is how often a waiter's row is written. A release ignores a row that was not written in the last 3 s.
const refreshEvery = time.Second

// rowState says whether the waiter has a row in the table of waiters, and whether the row is recent.
type rowState int

const (
	absent rowState = iota // there is no row, so no release reserves the lock for the waiter
	fresh                  // written less than refreshEvery ago
	stale                  // must be written again
)

// state returns the state of the waiter's row.
func (w *waiter) state() rowState {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.written.IsZero():
		return absent
	case time.Since(w.written) < refreshEvery:
		return fresh
	default:
		return stale
	}
}

func (w *waiter) hasRow() bool { return w != nil && w.state() != absent }

// rowWritten records that the row was written at this time.
func (w *waiter) rowWritten(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written = at
}

// rowDeleted records that the row was deleted because the lock was granted to the waiter.
func (w *waiter) rowDeleted() {
	if w != nil {
		w.rowWritten(time.Time{})
	}
}

// param returns the waiter's id as a parameter of a statement.
func (w *waiter) param() any {
	if w == nil {
		return nil
	}
	return w.id
}

// add adds a caller, and returns the caller's number.
func (w *waiter) add(wake func()) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	w.callers[w.next] = wake
	return w.next
}

// remove removes a caller, and reports whether it was the last caller.
func (w *waiter) remove(caller int) (last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.callers, caller)
	return len(w.callers) == 0
}

func (w *waiter) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wake := range w.callers { // the wake functions never block
		wake()
	}
}

// local contains the waiters of all backends of this process, keyed by id. A release in this process wakes them
// directly, before the watch of the file does.
var local sync.Map

// wakeLocal wakes the waiter with this id if the waiter is in this process.
func wakeLocal(id string) {
	if w, ok := local.Load(id); ok {
		w.(*waiter).wake()
	}
}
