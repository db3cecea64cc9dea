package postgres

import (
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// row is what this process knows of its row in the table of waiters. A process has one row for each name that it waits for,
// however many of its goroutines wait.
type row struct {
	key   driver.Key
	id    string
	state rowState
	heard heard

	wakes   map[*wake]struct{} // of those who wait; empty in the states that have nobody
	writing chan struct{}      // full while a statement writes the row: two that found none would both insert one
	gone    chan struct{}      // closed once a row that nobody waits with is deleted, or somebody waits with it again
}

type wake struct{ up func() }

// rowState says whether anybody waits with a row, and whether a release may call it.
//
//	unwritten   → listed, once the row is written
//	listed      → aside, when this process is granted the lock
//	aside       → listed, with the next request that is refused or the next tick
//	these three → passedOver from aside, else unwanted, when the last one leaves
//	passedOver  → expected, when a request is left with it; deleting at the next tick; unwritten when somebody waits again
//	expected    → listed, when whoever made the request waits; passedOver, when it is granted; deleting at the next tick
//	unwanted    → deleting at once; unwritten when somebody waits again
//	deleting    → gone
type rowState int

const (
	unwritten  rowState = iota // somebody waits, and the row is being written
	listed                     // somebody waits, and a release may call the row
	aside                      // somebody waits, and no release calls the row: its process was granted the lock
	passedOver                 // nobody waits, and no release calls the row: it stays for a moment, for who comes back
	expected                   // nobody waits yet, and a release may call the row: a request was left with it
	unwanted                   // nobody waits, and a release may call the row: it is deleted at once
	deleting                   // a statement that deletes the row is under way
)

// heard is what a notification has said of a row, for who waits with it or comes back to it.
type heard int

const (
	nothing heard = iota
	called        // the lock may be free
	granted       // a release says that it has granted the lock to the request that was left with the row
)

func newRow(key driver.Key) *row {
	return &row{key: key, id: driver.NewNonce().String(), wakes: map[*wake]struct{}{}, writing: make(chan struct{}, 1)}
}

// hasWaiters says whether somebody of this process waits.
func (r *row) hasWaiters() bool { return r.state <= aside }

// join adds one who waits, and wakes it if the row was called while nobody waited. It reports whether the row has to be written.
func (r *row) join(w *wake) (write bool) {
	r.wakes[w] = struct{}{}
	if r.hasWaiters() {
		return true
	}
	close(r.gone)
	if r.heard != nothing {
		w.up()
	}
	if r.state == expected {
		r.state = listed
		return false
	}
	r.state = unwritten
	return true
}

// leave removes one who waits. The channel that it returns is closed when no release can call the row any more; it is nil if none
// can now, or others wait.
func (r *row) leave(w *wake) (gone <-chan struct{}) {
	delete(r.wakes, w)
	if len(r.wakes) > 0 || !r.hasWaiters() {
		return nil
	}
	r.heard, r.gone = nothing, make(chan struct{})
	if r.state == aside {
		r.state = passedOver
		return nil
	}
	r.state = unwanted
	return r.gone
}

// grant notes that this process has been granted the lock.
func (r *row) grant() {
	switch r.state {
	case unwritten, listed, aside:
		r.state = aside
	case passedOver, expected, unwanted:
		r.state = passedOver
	case deleting:
	}
}

// refuse notes that this process was refused; left says whether its request was left with the row. It reports whether the row
// has to be written anew, because it is there no more, or no release calls it.
func (r *row) refuse(left bool) (anew bool) {
	switch {
	case r.state == aside && left:
		r.state = listed
	case r.state == aside:
		return true
	case r.state == passedOver && left:
		r.state = expected
	case r.state == passedOver:
		r.state = unwanted
	}
	return false
}

// hear takes note of a notification and wakes those who wait.
func (r *row) hear(what heard) {
	r.heard = max(r.heard, what)
	for w := range r.wakes { // they never block
		w.up()
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
