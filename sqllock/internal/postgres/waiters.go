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

	mu      sync.Mutex // must be locked before the listener's mutex
	rows    map[driver.Key]*row
	leaving []*row // rows without waiters, which the listener deletes at once
}

// join adds a waiter for key, and returns its row. The result write reports whether the caller must write the row.
func (s *waiters) join(key driver.Key, w *waiter) (r *row, write bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil {
		s.rows = make(map[driver.Key]*row)
	}
	r = s.rows[key]
	if r == nil {
		r = newRow(key)
		s.rows[key] = r
	}
	write = r.join(w)
	s.listener.start(s)
	return r, write
}

// leave removes a waiter from r. It returns a channel that is closed when no release can reserve the lock for r any
// longer. The channel is nil if the caller has nothing to wait for.
func (s *waiters) leave(r *row, w *waiter) (gone <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.leave(w) {
		return nil
	}
	s.drop(r)
	s.listener.poke()
	return r.gone
}

// drop makes the listener delete r. The next waiter for the lock gets a new row. The caller holds mu.
func (s *waiters) drop(r *row) {
	delete(s.rows, r.key)
	r.gone = make(chan struct{})
	s.leaving = append(s.leaving, r)
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

// rowOf returns the row for which the request r is sent, or nil. That row has a waiter, or is kept for a waiter that
// returns.
func (s *waiters) rowOf(r driver.Request) *row {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.rows[r.Key]
	if row == nil || row.hasWaiters() && !r.Waiting || !r.Waiting && !r.Waits {
		return nil
	}
	return row
}

// answered records the answer a to a request for the row r. The parameter before says that r was in the queue before.
func (s *waiters) answered(r *row, a sqlbase.Answer, before bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Verdict == sqlbase.Granted {
		r.granted()
	} else {
		r.refused(before && s.listener.hears())
	}
}

// listed reports whether the process is notified when the lock may be free that was refused to the request r with the
// answer a. Nobody is notified at the end of a transaction that has locked the row. While readers hold the lock, a
// writer polls, because its requests keep later readers out. A request that is not recorded in the row polls: after a
// grant of a share only one further waiter is notified, and a sealed grant may wait for a transaction.
func (s *waiters) listed(r driver.Request, a sqlbase.Answer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.rows[r.Key]
	return row != nil && row.confirmed && a.Pending &&
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

// callable returns the row's id as a parameter of hand_over.sql, if this process waits for key and its row is in the
// queue, else NULL.
func (s *waiters) callable(key driver.Key) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[key]; r != nil && r.hasWaiters() && r.queued {
		return r.id
	}
	return nil
}

// released returns the id of the row that a release of key must not choose, or "". It is a row of this process that
// has no waiter. The result crowded reports that this process waits for key or waited for key
// a moment ago. In that case other processes probably wait for key, too, and the release runs release_passing.sql.
func (s *waiters) released(key driver.Key) (pass string, crowded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[key]
	switch {
	case r == nil:
		return "", false
	case r.hasWaiters():
		return "", true
	default:
		return r.id, true
	}
}

// used reports whether this process has ever waited. Otherwise no row contains a request of it.
func (s *waiters) used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows != nil
}

// forsake deletes the row of key if it is in the queue and has no waiter. It returns a channel that is closed after the
// deletion, or nil if there is no such row.
func (s *waiters) forsake(key driver.Key) (gone <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[key]
	if r == nil || r.hasWaiters() || !r.queued {
		return nil
	}
	s.drop(r)
	s.listener.poke()
	return r.gone
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

// hear records a notification for the row with this id, or for every row if id is empty.
func (s *waiters) hear(id string, what heard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if id == "" || id == r.id {
			r.hear(what, func() { s.hear(r.id, heardCall) })
		}
	}
}

// work is a list of rows that the listener must write or delete.
type work struct {
	stay, remove []*row
	sweep        bool
}

// due returns the rows to write or delete now. The parameter tick is true once a second: the rows of waiters that poll
// are then written, and the other rows every 30 seconds. Rows that are kept in case a waiter returns are deleted when
// the parameter tick is true, or at once if the parameter keep is false. The result idle reports that no row is left. In
// that case the method has called the function end, and the next waiter starts the listener again.
func (s *waiters) due(tick, keep bool, end func()) (w work, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		switch {
		case !r.hasWaiters() && (tick || !keep):
			s.drop(r)
		case tick && r.stale() && r.refresh():
			w.stay = append(w.stay, r)
		}
	}
	w.remove, s.leaving = s.leaving, nil
	if idle = len(s.rows)+len(w.remove) == 0; idle {
		end()
	}
	return w, idle
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

// count reports whether there are waiters, and whether there are rows.
func (s *waiters) count() (waits, rows bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		waits = waits || r.hasWaiters()
	}
	return waits, len(s.rows)+len(s.leaving) > 0
}
