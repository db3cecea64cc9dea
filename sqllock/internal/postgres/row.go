package postgres

import (
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// row is what this process knows of its row in the table of waiters. A process has one row for each name that it waits for,
// however many of its goroutines wait. The mutex of waiters guards it.
type row struct {
	key   driver.Key
	id    string
	state rowState
	heard heard

	waiters  map[*waiter]struct{} // empty in the states that have none
	writing  chan struct{}        // full while a statement writes the row: two that found none would both insert one
	gone     chan struct{}        // of a row without waiters: closed once it is deleted, or somebody waits with it again
	replaces string               // the id of a row of the same name that was being deleted when this one was made, if there was one
}

// waiter is one goroutine that waits. Its address tells it from others.
type waiter struct{ wake func() }

// rowState says whether anybody waits with a row, and whether a release may call it.
//
//	             wrote   granted     refused      refused,   last one    somebody    at a tick
//	                                              deposited  leaves      waits
//	unwritten    listed  aside       –            –          unwanted    –           –
//	listed       –       aside       –            –          unwanted    –           –
//	aside        listed  –           write anew   listed     passedOver  –           listed
//	passedOver           –           unwanted     expected               unwritten   deleting
//	expected             passedOver  –            –                      listed      deleting
//	unwanted             –           –            –                      unwritten   deleting, also before
type rowState int

const (
	unwritten  rowState = iota // somebody waits, and the row is being written
	listed                     // somebody waits, and a release may call the row
	aside                      // somebody waits, and no release calls the row: its process was granted the lock
	passedOver                 // nobody waits, and no release calls the row: it stays for a moment, for who comes back
	expected                   // nobody waits yet, and a release may call the row: a request was deposited with it
	unwanted                   // nobody waits, and a release may call the row: it is deleted at once
	deleting                   // a statement that deletes the row is under way
)

// heard is what a notification has said of a row, for who waits with it or comes back to it.
type heard int

const (
	heardNothing heard = iota
	heardCall          // the lock may be free
	heardGrant         // a release says that it has granted the lock to the request that was deposited with the row
)

func newRow(key driver.Key, replaces string) *row {
	return &row{
		key: key, id: driver.NewNonce().String(), waiters: map[*waiter]struct{}{}, writing: make(chan struct{}, 1), replaces: replaces,
	}
}

// hasWaiters says whether somebody of this process waits.
func (r *row) hasWaiters() bool { return r.state <= aside }

// join adds a waiter, and wakes it if the row was called while nobody waited. It reports whether the row has to be written.
func (r *row) join(w *waiter) (write bool) {
	r.waiters[w] = struct{}{}
	if r.hasWaiters() {
		return true
	}
	close(r.gone)
	if r.heard != heardNothing {
		w.wake()
	}
	if r.state == expected {
		r.state = listed
		return false
	}
	r.state = unwritten
	return true
}

// leave removes a waiter. The channel that it returns is closed when no release can call the row any more; it is nil if none
// can now, or others wait.
func (r *row) leave(w *waiter) (gone <-chan struct{}) {
	delete(r.waiters, w)
	if len(r.waiters) > 0 || !r.hasWaiters() {
		return nil
	}
	r.heard, r.gone = heardNothing, make(chan struct{})
	if r.state == aside {
		r.state = passedOver
		return nil
	}
	r.state = unwanted
	return r.gone
}

// wrote notes that the row was written for those who wait with it.
func (r *row) wrote() {
	if r.state == unwritten || r.state == aside {
		r.state = listed
	}
}

// granted notes that this process has been granted the lock. A row that is unwanted stays so, because the waiter that left waits for its deletion.
func (r *row) granted() {
	switch r.state {
	case unwritten, listed:
		r.state = aside
	case expected:
		r.state = passedOver
	case aside, passedOver, unwanted, deleting:
	}
}

// refused notes that this process was refused; deposited says whether the statement wrote the request into the row, which it does not if
// the same request is there already, or the row is not. It reports whether the row has to be written anew, because no release calls it.
func (r *row) refused(deposited bool) (anew bool) {
	switch {
	case r.state == aside && deposited:
		r.state = listed
	case r.state == aside:
		return true
	case r.state == passedOver && deposited:
		r.state = expected
	case r.state == passedOver:
		r.state = unwanted
	}
	return false
}

// forsake has a row deleted at once that a request was deposited with. The channel that it returns is closed then. It is nil if no
// release can call the row, or somebody waits with it.
func (r *row) forsake() (gone <-chan struct{}) {
	switch r.state {
	case expected:
		r.state = unwanted
		return r.gone
	case unwanted, deleting:
		return r.gone
	default:
		return nil
	}
}

// refresh has the row written for those who wait with it, from when on it can be called, unless somebody writes it now.
func (r *row) refresh() (write bool) {
	if r.state != listed && r.state != aside {
		return false
	}
	select {
	case r.writing <- struct{}{}:
		r.state = listed
		return true
	default:
		return false
	}
}

// remove has the row deleted if nobody waits with it: at once, or with the next tick if somebody may come back.
func (r *row) remove(tick bool) bool {
	due := r.state == unwanted || tick && (r.state == passedOver || r.state == expected)
	if due {
		r.state = deleting
	}
	return due
}

// hear takes note of a notification and wakes those who wait.
func (r *row) hear(what heard) {
	r.heard = max(r.heard, what)
	for w := range r.waiters { // they never block
		w.wake()
	}
}

// waiterRow is a row as wait.sql and leave.sql read it.
type waiterRow struct {
	Namespace sqlbase.Text `json:"namespace"`
	Name      sqlbase.Text `json:"name"`
	ID        string       `json:"id"`
}

func encodeRows(rows []*row) string {
	list := make([]waiterRow, len(rows))
	for i, r := range rows {
		list[i] = waiterRow{sqlbase.Text(r.key.Namespace), sqlbase.Text(r.key.Name), r.id}
	}
	text, _ := sqlbase.Encode(list) // strings are always encoded
	return text
}
