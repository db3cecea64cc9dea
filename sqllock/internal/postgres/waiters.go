package postgres

import (
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// waiters contains the rows that one backend of this process has in the table of waiters. While there are such rows,
// the listener writes them once a second, and receives their notifications.
type waiters struct {
	listener listener

	mu   sync.Mutex // must be locked before the listener's mutex
	rows map[driver.Key]*row
	dead map[string]driver.Key // the locks that were reserved for another process and not acquired by it, keyed by the id of its row

	deposited bool // whether a request was ever deposited in a row
}

// join adds a waiter for key, and returns its row. The result write reports whether the caller must write the row.
// The result first reports whether the row had no waiter before.
func (s *waiters) join(key driver.Key, w *waiter) (r *row, write, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil {
		s.rows, s.dead = make(map[driver.Key]*row), make(map[string]driver.Key)
	}
	r = s.rows[key]
	if r == nil || r.state == deleting {
		replaces := ""
		if r != nil {
			replaces = r.id
		}
		r = newRow(key, replaces)
		s.rows[key] = r
		r.waiters[w] = struct{}{}
		write, first = true, true
	} else {
		first = !r.hasWaiters()
		write = r.join(w)
	}
	s.listener.start(s)
	return r, write, first
}

// leave removes a waiter from r. It returns a channel that is closed when no release can reserve the lock for r any
// longer. The channel is nil if the caller has nothing to wait for.
func (s *waiters) leave(r *row, w *waiter) (gone <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone = r.leave(w)
	if !r.hasWaiters() {
		s.listener.poke()
	}
	return gone
}

// wrote records that r was written with the given channel. It returns the current channel of the listener, and
// whether it is the same channel.
func (s *waiters) wrote(r *row, channel string) (now string, same bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.wrote()
	now = s.listener.heardOn()
	return now, now == channel
}

// asking says for which row, and with which options, an acquire request is sent.
type asking struct {
	row      *row
	revives  bool // true if the row was in the state passedOver: the request writes it, and its waiting time starts now
	deposits bool // true if the request is stored in the row, so that a later release may grant it
}

// id returns the row's id as a parameter, or NULL without a row.
func (a asking) id() any {
	if a.row == nil {
		return nil
	}
	return a.row.id
}

// mode returns parameter $10 of acquire_waiting.sql.
func (a asking) mode() int64 { return sqlbase.Flag(a.deposits) + 2*sqlbase.Flag(a.revives) }

// asks returns the row for which the request r is sent. That row has a waiter, or is expected to get a waiter, or had
// a waiter a moment ago and may get one again. Without such a row, the method returns the zero value.
func (s *waiters) asks(r driver.Request) (a asking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.rows[r.Key]
	if row == nil {
		return a
	}
	deposits := s.listener.hears() && r.Seal == "" && !r.Shared // a release grants a deposited request exclusively
	switch {
	case row.hasWaiters() && r.Waiting, row.state == expected && r.Waits:
		a = asking{row: row, deposits: deposits}
	case row.state == passedOver && r.Waits && deposits:
		a = asking{row: row, deposits: deposits, revives: true}
	}
	s.deposited = s.deposited || a.deposits
	return a
}

// answered records the answer a to the request of a waiter. The parameter waiting is the row of that waiter. The
// parameter looked says that the statement was acquire_waiting.sql, and the parameter there is its result: whether a
// release may choose the row. The result anew reports whether the
// row must be written again, because no release can notify it. If the lock was reserved for another process that did
// not acquire it, that process may be dead, so its row is deleted. If that process is alive, it soon writes its row
// again.
func (s *waiters) answered(waiting *row, a sqlbase.Answer, looked, there bool) (anew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Missed != "" {
		s.dead[a.Missed] = waiting.key
		s.listener.poke()
	}
	if a.Verdict == sqlbase.Granted {
		waiting.granted()
		return false
	}
	return waiting.refused(looked, there)
}

// listed reports whether the process is notified when the lock may be free that was refused to the request r with the
// answer a. Nobody is notified at the end of a transaction that has locked the row. While readers hold the lock, a
// writer polls, because its requests keep later readers out.
func (s *waiters) listed(r driver.Request, a sqlbase.Answer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.rows[r.Key]
	return row != nil && row.state == listed && row.there && s.listener.hears() &&
		a.Verdict != sqlbase.Contended && a.Verdict != sqlbase.Draining && a.Readers == 0
}

// granted records that this process was granted the lock of key, by a hand-over within the process or by a release.
func (s *waiters) granted(key driver.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[key]; r != nil && r.hasWaiters() {
		r.granted()
	}
}

// promised reports whether a notification said that a waiter for key has been granted the lock. It returns true only
// once for each such notification.
func (s *waiters) promised(key driver.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[key]
	if r == nil || !r.hasWaiters() || r.heard != heardGrant {
		return false
	}
	r.heard = heardNothing
	return true
}

// callable returns the id of this process's row for key if a release may notify that row, else nil.
func (s *waiters) callable(key driver.Key) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[key]; r != nil && (r.state == unwritten || r.state == listed) {
		return r.id
	}
	return nil
}

// released returns the id of the row that a release of key must not choose, or "". It is a row of this process that
// has no waiter, or that is being deleted. The result crowded reports that this process waits for key or waited for key
// a moment ago. In that case other processes probably wait for key, too, and the release runs release_passing.sql.
func (s *waiters) released(key driver.Key) (pass string, crowded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[key]
	switch {
	case r == nil:
		return "", false
	case !r.hasWaiters():
		return r.id, true
	default:
		return r.replaces, true
	}
}

// anyDeposited reports whether a request was ever stored in a row, so that a release may grant it.
func (s *waiters) anyDeposited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deposited
}

// forsake deletes the row of key if a request was deposited in the row and no waiter has joined it. It returns a
// channel that is closed after the deletion, or nil if there is no such row.
func (s *waiters) forsake(key driver.Key) (gone <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[key]
	if r == nil {
		return nil
	}
	s.listener.poke()
	return r.forsake()
}

// goneLimit bounds how long a waiter that stops waiting is blocked until its row is deleted.
const goneLimit = time.Second

func awaitGone(gone <-chan struct{}) {
	if gone == nil {
		return
	}
	timer := time.NewTimer(goneLimit)
	defer timer.Stop()
	select {
	case <-gone:
	case <-timer.C:
	}
}

// hear records a notification for the row with this id, or for every row if id is empty. A release may have notified
// a row that was being deleted. In that case the notification is for the row that replaces it.
func (s *waiters) hear(id string, what heard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if id == "" && r.state != unwritten || id != "" && (r.id == id || r.replaces == id) {
			r.hear(what, func() { s.hear(r.id, heardCall) })
		}
	}
}

// work is a list of rows that the listener must write or delete.
type work struct {
	stay, remove []*row
	dead         []*row // rows of other processes to delete
	sweep        bool
}

// due returns the rows to write or delete now. The parameter tick is true once a second: the rows of waiters that poll
// are then written, and the other rows every 30 seconds. Rows that are kept in case a waiter returns are deleted when
// the parameter tick is true, or at once if the parameter keep is false. The result idle reports that no row is left. In
// that case the method has called the function end, and the next waiter starts the listener again.
func (s *waiters) due(tick, keep bool, end func()) (w work, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rows)+len(s.dead) == 0 {
		end()
		return w, true
	}
	for _, r := range s.rows {
		switch {
		case tick && r.stale() && r.refresh():
			w.stay = append(w.stay, r)
		case r.remove(tick || !keep):
			w.remove = append(w.remove, r)
		}
	}
	for id, key := range s.dead {
		w.dead = append(w.dead, &row{key: key, id: id})
	}
	return w, false
}

// again returns the rows that a new connection must write, because they were written for an earlier connection.
func (s *waiters) again() (w work) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if r.refresh() {
			w.stay = append(w.stay, r)
		}
	}
	return w
}

// done records that the work w was done. It is also called after a failed deletion, because releases ignore the rows
// after 3 s.
func (s *waiters) done(w work) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range w.remove {
		if s.rows[r.key] == r {
			delete(s.rows, r.key)
		}
		close(r.gone)
	}
	for _, r := range w.dead {
		delete(s.dead, r.id)
	}
}

// count reports whether there are waiters, and whether there are rows.
func (s *waiters) count() (waits, rows bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		waits = waits || r.hasWaiters()
	}
	return waits, len(s.rows) > 0
}
