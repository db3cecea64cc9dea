package sqlite

import (
	"sync"
	"time"
)

// waiter waits for one name of one backend, on behalf of any number of callers. A nil waiter means that no caller
// waits.
type waiter struct {
	id string // random

	mu      sync.Mutex
	callers map[int]func() // what wakes each caller
	next    int
	written time.Time // when its row was last written; zero while it has none
}

// refreshEvery is how often a waiter's row is written while it waits. Releases pass over a row that was not written for 3 s.
const refreshEvery = time.Second

// rowState says whether the waiter's row in the table of waiters is present and recent.
type rowState int

const (
	absent rowState = iota // no release reserves the lock for it
	fresh                  // the row was written less than refreshEvery ago
	stale                  // the row must be written again
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
	for _, wake := range w.callers { // the functions never block
		wake()
	}
}

// local contains the waiters of all backends of this process by id. A release wakes these waiters without reading the
// file.
var local sync.Map

// wakeLocal wakes the waiter with this id if the waiter is in this process.
func wakeLocal(id string) {
	if w, ok := local.Load(id); ok {
		w.(*waiter).wake()
	}
}
