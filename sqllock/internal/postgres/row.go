package postgres

import (
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// row is this process's copy of its row in the table of waiters. A process has one row for each lock that it waits
// for, and all its waiting goroutines share the row. The mutex of waiters guards the fields.
type row struct {
	key   driver.Key
	id    string
	state rowState
	heard heard
	there bool      // the last refusal found the row in the table, and the waiter relies on notifications
	at    time.Time // when the row was last written for its waiters

	second *time.Timer // wakes the waiters if the waiter before this row does not come; nil if there is none

	waiters  map[*waiter]struct{} // the goroutines that wait; empty in the states without waiters
	writing  chan struct{}        // contains a value while a statement writes the row: two statements at once would insert two rows
	gone     chan struct{}        // only in a row without waiters: closed once the row is deleted or has a waiter again
	replaces string               // the id of the earlier row for the same key, if that row was being deleted when this row was created; else empty
}

// waiter is one waiting goroutine. Waiters are compared by address.
type waiter struct{ wake func() }

// rowState says whether a row has waiters, and whether a release may choose and notify the row. The table shows the
// next state after each event; – means that the event does not change the state, and "rewrite" that the row must be
// written again.
//
//	             written  granted     refused,     refused,  last waiter  a waiter   at a tick
//	                                  not there    there     leaves       joins
//	unwritten    listed   aside       –            –         unwanted     –          –
//	listed       –        aside       rewrite      –         unwanted     –          –
//	aside        listed   –           rewrite      listed    passedOver   –          listed
//	passedOver            –           unwanted     expected               unwritten  deleting
//	expected              passedOver  –            –                      listed     deleting
//	unwanted              –           –            –                      unwritten  deleting, or earlier
type rowState int

const (
	unwritten  rowState = iota // has a waiter, and must be written
	listed                     // has a waiter, and a release may notify it
	aside                      // has a waiter, but no release notifies it, because its process was granted the lock
	passedOver                 // has no waiter, and no release notifies it; it is kept briefly in case a waiter returns
	expected                   // has no waiter yet, but contains a request that a release may grant, so a release may notify it
	unwanted                   // has no waiter, and a release may notify it, so it is deleted at once
	deleting                   // a statement that deletes the row is under way
)

// heard is the content of the notifications that have arrived for a row.
type heard int

const (
	heardNothing heard = iota
	heardNext          // the waiter before this row was notified
	heardCall          // the lock may be free
	heardGrant         // a notification claims that a release granted the lock to the request in the row
)

func newRow(key driver.Key, replaces string) *row {
	return &row{
		key: key, id: driver.NewNonce().String(), waiters: map[*waiter]struct{}{}, writing: make(chan struct{}, 1), replaces: replaces,
	}
}

// hasWaiters reports whether a goroutine of this process waits with the row.
func (r *row) hasWaiters() bool { return r.state <= aside }

// join adds a waiter, and wakes it if the row was notified while it had no waiter. It reports whether the caller must
// write the row.
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

// leave removes a waiter. It returns a channel that is closed when no release can notify the row any longer. The
// channel is nil if the row has other waiters, or if releases already ignore the row.
func (r *row) leave(w *waiter) (gone <-chan struct{}) {
	delete(r.waiters, w)
	if len(r.waiters) > 0 || !r.hasWaiters() {
		return nil
	}
	r.cancelSecond()
	r.heard, r.gone = heardNothing, make(chan struct{})
	if r.state == aside {
		r.state = passedOver
		return nil
	}
	r.state = unwanted
	return r.gone
}

// wrote records that the row was written for its waiters.
func (r *row) wrote() {
	r.at = time.Now()
	if r.state == unwritten || r.state == aside {
		r.state = listed
	}
}

// granted records that this process was granted the lock. An unwanted row stays unwanted, because the waiter that has
// left is waiting for the deletion of the row.
func (r *row) granted() {
	switch r.state {
	case unwritten, listed:
		r.state = aside
	case expected:
		r.state = passedOver
	case aside, passedOver, unwanted, deleting:
	}
}

// refused records that this process was refused. The parameter looked says that the statement looked for the row, and
// the parameter there whether a release may choose the row. The row is not there if it does not exist: another process
// deletes the row if this process missed a reservation. The result anew reports that the row has waiters but no release
// can notify it, so it must be written again.
func (r *row) refused(looked, there bool) (anew bool) {
	r.there = there
	switch {
	case r.state == listed && looked && !there:
		r.state = aside
		return true
	case r.state == aside && there:
		r.state = listed
	case r.state == aside:
		return true
	case r.state == passedOver && there:
		r.state = expected
	case r.state == passedOver:
		r.state = unwanted
	}
	return false
}

// forsake marks a row that contains a request, but has no waiter, for immediate deletion. It returns a channel that is
// closed after the deletion. The channel is nil if no release can notify the row, or if the row has waiters.
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

// refresh reports whether to write the row now for its waiters. In that case a release may notify the row from now
// on. refresh returns false in the state unwritten, and while another statement writes the row.
func (r *row) refresh() (write bool) {
	if r.state != listed && r.state != aside {
		return false
	}
	select {
	case r.writing <- struct{}{}:
		r.state, r.at = listed, time.Now()
		return true
	default:
		return false
	}
}

// remove reports whether to delete the row now, because it has no waiter. An unwanted row is deleted at once. A row
// that is kept for a waiter that returns is deleted when the parameter tick is true.
func (r *row) remove(tick bool) bool {
	due := r.state == unwanted || tick && (r.state == passedOver || r.state == expected)
	if due {
		r.state = deleting
	}
	return due
}

// stale reports whether it is time to write the row again. Every second is often enough for a row whose waiter polls. If
// the waiter relies on notifications, releases check whether its session lives, so the row is written less often.
func (r *row) stale() bool { return !r.there || time.Since(r.at) >= listedEvery }

// secondChance is the delay after which the second waiter of a queue sends a request, if it was not notified. The lock
// was reserved for the first waiter for 50 ms.
const secondChance = 55 * time.Millisecond

func (r *row) cancelSecond() {
	if r.second != nil {
		r.second.Stop()
		r.second = nil
	}
}

// hear records a notification for the row and wakes the row's waiters. If the waiter before this row was notified, hear
// wakes them later, unless the row is notified before.
func (r *row) hear(what heard, later func()) {
	r.cancelSecond()
	if what == heardNext {
		r.second = time.AfterFunc(secondChance, later)
		return
	}
	r.heard = max(r.heard, what)
	for w := range r.waiters { // the wake functions never block
		w.wake()
	}
}

// waiterRow is a row in the JSON parameter of wait.sql and leave.sql.
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
	text, _ := sqlbase.Encode(list) // encoding strings never fails
	return text
}
