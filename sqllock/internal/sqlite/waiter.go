package sqlite

import (
	"sync"
	"time"
)

// waiter is what waits for one name by way of one backend: any number of callers. A nil waiter is no waiter.
type waiter struct {
	id string // random

	mu      sync.Mutex
	callers map[int]func() // what wakes each caller
	next    int
	written time.Time // when its row was last written; zero while it has none
}

// refreshEvery is how often a waiter's row is written while it waits. Releases pass over a row that was not written for 3 s.
const refreshEvery = time.Second

// rowState is what a waiter knows of its row in the table of waiters.
type rowState int

const (
	absent rowState = iota // no release reserves the lock for it
	fresh                  // written less than refreshEvery ago
	stale                  // to be written again
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

// rowWritten notes that the row was written at this time.
func (w *waiter) rowWritten(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written = at
}

// rowDeleted notes that the row was deleted because the lock was granted to the waiter.
func (w *waiter) rowDeleted() {
	if w != nil {
		w.rowWritten(time.Time{})
	}
}

// param is the waiter as a parameter of a statement.
func (w *waiter) param() any {
	if w == nil {
		return nil
	}
	return w.id
}

// add adds a caller, and returns its number.
func (w *waiter) add(wake func()) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	w.callers[w.next] = wake
	return w.next
}

// remove removes a caller, and reports whether it was the last one.
func (w *waiter) remove(caller int) (last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.callers, caller)
	return len(w.callers) == 0
}

func (w *waiter) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wake := range w.callers { // they never block
		wake()
	}
}

// local has the waiters of all backends of this process by id: a release wakes them without a look at the file.
var local sync.Map

// wakeLocal wakes a waiter if it is in this process.
func wakeLocal(id string) {
	if w, ok := local.Load(id); ok {
		w.(*waiter).wake()
	}
}
