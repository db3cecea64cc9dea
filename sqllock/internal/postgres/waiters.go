package postgres

import (
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// waiters are the rows of this process in the table of waiters, by way of one backend. While there are any, a listener writes
// once a second that they still wait, and hears the notifications that call one of them.
type waiters struct {
	listener listener

	mu   sync.Mutex // taken before the listener's
	rows map[driver.Key]*row
	dead map[string]driver.Key // rows of other processes that a release called in vain, by id
	left bool                  // a request was ever left with a row
}

// join adds one who waits for key. It returns the row, whether that has to be written, and whether it waits from now on.
func (s *waiters) join(key driver.Key, w *wake) (r *row, write, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r = s.rows[key]
	if r == nil || r.state == deleting {
		r = newRow(key)
		if s.rows == nil {
			s.rows, s.dead = make(map[driver.Key]*row), make(map[string]driver.Key)
		}
		s.rows[key] = r
		r.wakes[w] = struct{}{}
		write, first = true, true
	} else {
		first = !r.hasWaiters()
		write = r.join(w)
	}
	s.listener.start(s)
	return r, write, first
}

// leave removes one who waits with r. The channel that it returns is closed when no release can reserve the lock for r any more. It is
// nil if none can now.
func (s *waiters) leave(r *row, w *wake) (gone <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone = r.leave(w)
	if !r.hasWaiters() {
		s.listener.hurry()
	}
	return gone
}

// written notes that r was written with a channel, and reports whether that is still the one on which notifications arrive.
func (s *waiters) written(r *row, channel string) (now string, same bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.state == unwritten || r.state == aside {
		r.state = listed
	}
	now = s.listener.heardOn()
	return now, now == channel
}

// asking is how a request is sent on behalf of a row.
type asking struct {
	row     *row
	revives bool // a row that is passed over is written anew, to wait from now on
	leaves  bool // a release may grant the request later on
}

// id is the row as a parameter: NULL where there is none.
func (a asking) id() any {
	if a.row == nil {
		return nil
	}
	return a.row.id
}

// mode is the parameter of acquire_waiting.sql.
func (a asking) mode() int64 { return sqlbase.Flag(a.leaves) + 2*sqlbase.Flag(a.revives) }

// asks finds the row on whose behalf r is sent: of who waits, of who is expected to, or of who waited a moment ago and may again.
func (s *waiters) asks(r driver.Request) (a asking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, leaves := s.rows[r.Key], s.listener.hears() && r.Seal == ""
	switch {
	case row == nil:
		return a
	case row.hasWaiters() && r.Waiting, row.state == expected && r.Waits:
		a = asking{row: row, leaves: leaves}
	case row.state == passedOver && r.Waits && leaves:
		a = asking{row: row, leaves: leaves, revives: true}
	}
	s.left = s.left || a.leaves
	return a
}

// answered notes what a request on behalf of a row was told; left says whether the row was written with the request. It reports whether
// the row of one who waits has to be written anew, because nobody would be called by it. The row of another process that was called in
// vain is deleted: that process may be dead. If it lives, it writes its row anew before long.
func (s *waiters) answered(by *row, a sqlbase.Answer, left bool) (anew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Missed != "" {
		s.dead[a.Missed] = by.key
		s.listener.hurry()
	}
	if a.Verdict == sqlbase.Granted {
		by.grant()
		return false
	}
	return by.refuse(left)
}

// granted notes that this process has been granted the lock of key, by a hand-over within it or by a release.
func (s *waiters) granted(key driver.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[key]; r != nil && r.hasWaiters() {
		r.grant()
	}
}

// promised reports whether a notification has claimed that a release granted the lock to the request of who waits for key. It reports
// that once for each notification.
func (s *waiters) promised(key driver.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[key]
	if r == nil || !r.hasWaiters() || r.heard != granted {
		return false
	}
	r.heard = nothing
	return true
}

// callable is the id of the row by which who waits for key here may be called, else nil.
func (s *waiters) callable(key driver.Key) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[key]; r != nil && (r.state == unwritten || r.state == listed) {
		return r.id
	}
	return nil
}

// released is the row of who waited for key until it was granted, which a release passes over: empty if there is none. Where somebody
// waited here, or does, others do as well, most likely: crowded.
func (s *waiters) released(key driver.Key) (pass string, crowded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[key]
	if r == nil {
		return "", false
	}
	if !r.hasWaiters() {
		pass = r.id
	}
	return pass, true
}

// anyLeft reports whether a request was ever left with a row.
func (s *waiters) anyLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// forsake deletes the row that a request was left with and whose waiter was expected. The channel that it returns is closed then; it is
// nil if there is no such row.
func (s *waiters) forsake(key driver.Key) (gone <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[key]
	if r == nil || r.state != expected {
		return nil
	}
	r.state = unwanted
	s.listener.hurry()
	return r.gone
}

// goneLimit bounds how long a waiter that gives up waits for the deletion of its row.
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

// hear takes note of what a notification says of the row id, or of every row if it is of none in particular.
func (s *waiters) hear(id string, what heard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if r.id == id || id == "" && r.state != unwritten {
			r.hear(what)
		}
	}
}

// work is what the listener has to write.
type work struct {
	stay, leave []*row
	dead        []*row // of other processes
	sweep       bool
}

// due is what is to be written now; at a tick, all that exists. When there is nothing left at all the listener ends, by done.
func (s *waiters) due(tick, all bool, done func()) (w work) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rows)+len(s.dead) == 0 {
		done()
		return w
	}
	if tick {
		w.stay = s.refreshed()
	}
	for _, r := range s.rows {
		if r.state == unwanted || (tick || all) && (r.state == passedOver || r.state == expected) {
			r.state = deleting
			w.leave = append(w.leave, r)
		}
	}
	for id, key := range s.dead {
		w.dead = append(w.dead, &row{key: key, id: id})
	}
	return w
}

// refreshed are the rows of those who wait, which can be called from now on; not those that somebody else writes now. The caller holds mu.
func (s *waiters) refreshed() (stay []*row) {
	for _, r := range s.rows {
		if r.state != listed && r.state != aside {
			continue
		}
		select {
		case r.writing <- struct{}{}:
			r.state = listed
			stay = append(stay, r)
		default:
		}
	}
	return stay
}

// again is what a new connection has to write: the rows of those who waited before it.
func (s *waiters) again() work {
	s.mu.Lock()
	defer s.mu.Unlock()
	return work{stay: s.refreshed()}
}

// told notes that w was written. If that failed, releases pass over the rows before long.
func (s *waiters) told(w work) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range w.leave {
		if s.rows[r.key] == r {
			delete(s.rows, r.key)
		}
		close(r.gone)
	}
	for _, r := range w.dead {
		delete(s.dead, r.id)
	}
}

// hasWaiters says whether anybody waits, and whether there is any row at all.
func (s *waiters) hasWaiters() (waits, rows bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		waits = waits || r.hasWaiters()
	}
	return waits, len(s.rows) > 0
}
