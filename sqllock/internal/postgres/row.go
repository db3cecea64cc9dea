package postgres

import (
	"strings"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// row is this process's copy of its row in the table of waiters. A process has one row for each lock that it waits
// for, and all its waiters share the row. The mutex of waiters guards the fields.
//
// The table says in which of these states the row is:
//
//	absent     there is no row
//	queued     callable is true, nonce is NULL    a release may choose the row: it reserves the lock and notifies
//	recorded   callable is true, nonce is set     a release may choose the row, and may grant the recorded request
//	unqueued   callable is false, nonce is NULL   no release chooses the row: the process has the lock, or was too late
//
//	absent ─────────────────────> queued      wait.sql, after the first refusal
//	queued, unqueued ───────────> recorded    acquire.sql was refused, and the process listens
//	unqueued ───────────────────> queued      wait.sql, or another request was refused
//	recorded ───────────────────> queued      withdraw.sql: a waiter gave up
//	queued, recorded ───────────> unqueued    a grant to the process, or to another after a missed reservation
//	any state ──────────────────> absent      leave.sql: no waiter is left; forget_waiters.sql: the process has died
//
// A release also skips a row after its time alive_until, and a row whose session has ended.
//
// A row without waiters is kept until the next tick, for a waiter that returns. If it is queued, a request that came
// before Notify has put it into the queue. If it is not queued, the process was granted the lock.
type row struct {
	key     driver.Key
	id      string
	waiters map[*waiter]struct{}

	queued    bool      // a release may choose the row; a grant to this process takes the row out of the queue
	confirmed bool      // a refused request has found the row in the queue, and notifications arrive
	at        time.Time // when the row was last written for its waiters; zero before the first write
	heard     heard

	second  *time.Timer   // wakes the waiters if the waiter before this row does not come; nil if there is none
	writing chan struct{} // contains a value while a statement writes the row: two statements at once would insert two rows
	gone    chan struct{} // closed once the row is deleted; nil before the deletion is due
}

// waiter is one call of Notify, so it stands for one Locker that waits for the lock. Waiters are compared by address.
type waiter struct{ wake func() }

// heard is the content of the notifications that have arrived for a row.
type heard int

const (
	heardNothing heard = iota
	heardNext          // the waiter before this row was notified
	heardCall          // the lock may be free
	heardGrant         // a notification claims that a release granted the lock to the request in the row
)

// These words follow the row's id in the payload of a notification. With grantedWord, the release has granted the
// request that was recorded in that row. Only release_passing.sql sends such a notification. With nextWord, the release
// has notified the waiter before that row.
const (
	grantedWord = "granted"
	nextWord    = "next"
)

// parse parses the payload of a notification. Any role of the database can send such a payload, so it is only a hint.
// Only the row of the lock proves a grant.
func parse(payload string) (id string, what heard) {
	id, word, _ := strings.Cut(payload, " ")
	switch word {
	case grantedWord:
		return id, heardGrant
	case nextWord:
		return id, heardNext
	default:
		return id, heardCall
	}
}

func newRow(key driver.Key) *row {
	return &row{key: key, id: driver.NewNonce().String(), waiters: map[*waiter]struct{}{}, writing: make(chan struct{}, 1)}
}

// param returns the row's id as a parameter, or NULL without a row.
func (r *row) param() any {
	if r == nil {
		return nil
	}
	return r.id
}

// hasWaiters reports whether a goroutine of this process waits with the row.
func (r *row) hasWaiters() bool { return len(r.waiters) > 0 }

// join adds a waiter, and wakes it if the row was notified while it had no waiter. It reports whether the caller must
// write the row.
func (r *row) join(w *waiter) (write bool) {
	write = r.hasWaiters() || !r.queued
	if !r.hasWaiters() && r.heard != heardNothing {
		w.wake()
	}
	r.waiters[w] = struct{}{}
	r.queued = true
	return write
}

// leave removes a waiter. It reports whether to delete the row at once, because it has no other waiter, and a release
// may choose it.
func (r *row) leave(w *waiter) (unwanted bool) {
	delete(r.waiters, w)
	if r.hasWaiters() {
		return false
	}
	r.cancelSecond()
	r.heard, r.confirmed = heardNothing, false
	return r.queued
}

// granted records that this process was granted the lock.
func (r *row) granted() { r.queued, r.confirmed = false, false }

// refused records that a request for the row was refused, which has put the row into the queue. The parameter before
// says that the row was in the queue before. If it was not, a release at the same time may not have seen the row.
func (r *row) refused(before bool) { r.queued, r.confirmed = true, before }

// refresh reports whether to write the row now for its waiters. It returns false before the first write, which Notify
// makes, and while another statement writes the row.
func (r *row) refresh() (write bool) {
	if !r.hasWaiters() || r.at.IsZero() {
		return false
	}
	select {
	case r.writing <- struct{}{}:
		r.wrote()
		return true
	default:
		return false
	}
}

// wrote records that the row was written for its waiters, which puts it into the queue.
func (r *row) wrote() { r.queued, r.at = true, time.Now() }

// stale reports whether it is time to write the row again. Every second is often enough for a row whose waiter polls. If
// the waiter relies on notifications, releases check whether its session lives, so the row is written less often.
func (r *row) stale() bool { return !r.confirmed || time.Since(r.at) >= listedEvery }

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
