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
	dead map[string]driver.Key // rows of other processes that a release called without effect, by id

	deposited bool // a request was ever deposited with a row
}

// join adds a waiter for key. It returns the row, whether that has to be written, and whether it waits from now on.
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

// leave removes a waiter with r. The channel that it returns is closed when no release can reserve the lock for r any more. It is
// nil if none can now.
func (s *waiters) leave(r *row, w *waiter) (gone <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone = r.leave(w)
	if !r.hasWaiters() {
		s.listener.poke()
	}
	return gone
}

// wrote notes that r was written with a channel, and reports whether that is still the one on which notifications arrive.
func (s *waiters) wrote(r *row, channel string) (now string, same bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.wrote()
	now = s.listener.heardOn()
	return now, now == channel
}

// asking is how a request is sent on behalf of a row.
type asking struct {
	row      *row
	revives  bool // a row that is passed over is written anew, to wait from now on
	deposits bool // a release may grant the request later on
}

// id is the row as a parameter: NULL where there is none.
func (a asking) id() any {
	if a.row == nil {
		return nil
	}
	return a.row.id
}

// mode is the parameter of acquire_waiting.sql.
func (a asking) mode() int64 { return sqlbase.Flag(a.deposits) + 2*sqlbase.Flag(a.revives) }

// asks finds the row on whose behalf r is sent: of who waits, of who is expected to, or of who waited a moment ago and may again.
func (s *waiters) asks(r driver.Request) (a asking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.rows[r.Key]
	if row == nil {
		return a
	}
	deposits := s.listener.hears() && r.Seal == ""
	switch {
	case row.hasWaiters() && r.Waiting, row.state == expected && r.Waits:
		a = asking{row: row, deposits: deposits}
	case row.state == passedOver && r.Waits && deposits:
		a = asking{row: row, deposits: deposits, revives: true}
	}
	s.deposited = s.deposited || a.deposits
	return a
}

// answered notes the answer to a request on behalf of a row; deposited says whether the statement wrote the request into the row. It
// reports whether the row has to be written anew, because no release calls it. The row of another process that was called without effect
// is deleted: that process may be dead. If it lives, it writes its row anew before long.
func (s *waiters) answered(by *row, a sqlbase.Answer, deposited bool) (anew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Missed != "" {
		s.dead[a.Missed] = by.key
		s.listener.poke()
	}
	if a.Verdict == sqlbase.Granted {
		by.granted()
		return false
	}
	return by.refused(deposited)
}

// granted notes that this process has been granted the lock of key, by a hand-over within it or by a release.
func (s *waiters) granted(key driver.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[key]; r != nil && r.hasWaiters() {
		r.granted()
	}
}

// promised reports whether a notification has claimed that a release granted the lock to the request of who waits for key. It reports
// that once for each notification.
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

// callable is the id of the row by which who waits for key here may be called, else nil.
func (s *waiters) callable(key driver.Key) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[key]; r != nil && (r.state == unwritten || r.state == listed) {
		return r.id
	}
	return nil
}

// released is the id of the row that a release of key passes over: of a process that has been granted the lock, or does not wait any
// more. It is empty if there is none. Where somebody waited here, or does, others do as well, most likely: crowded.
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

// anyDeposited reports whether a request was ever deposited with a row.
func (s *waiters) anyDeposited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deposited
}

// forsake deletes the row that a request was deposited with and whose waiter was expected. The channel that it returns is closed then; it
// is nil if there is no such row.
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

// hear takes note of what a notification says of the row id, or of every row if it is of none in particular. A row that was being deleted
// may have been called instead of the one that replaces it.
func (s *waiters) hear(id string, what heard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if id == "" && r.state != unwritten || id != "" && (r.id == id || r.replaces == id) {
			r.hear(what)
		}
	}
}

// work is what the listener has to write.
type work struct {
	stay, remove []*row
	dead         []*row // of other processes
	sweep        bool
}

// due is what is to be written now: at a tick the rows of all who wait. Rows that somebody may come back to are deleted at a tick, or at
// once if nothing is to be kept. idle says that there is nothing left at all; the listener has ended then, as far as the next waiter sees.
func (s *waiters) due(tick, keep bool, end func()) (w work, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rows)+len(s.dead) == 0 {
		end()
		return w, true
	}
	for _, r := range s.rows {
		switch {
		case tick && r.refresh():
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

// again is what a new connection has to write: the rows of those who waited before it.
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

// done notes that w was written. If that failed, releases pass over the rows before long.
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

// count says whether anybody waits, and whether there is any row at all.
func (s *waiters) count() (waits, rows bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		waits = waits || r.hasWaiters()
	}
	return waits, len(s.rows) > 0
}
