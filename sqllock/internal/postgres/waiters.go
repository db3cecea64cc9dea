package postgres

import (
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// waiters contains the rows of one backend and this process in the table of waiters. While there are such rows, a
// listener refreshes them once a second, and receives their notifications.
type waiters struct {
	listener listener

	mu   sync.Mutex // locked before the listener's mutex
	rows map[driver.Key]*row
	dead map[string]driver.Key // rows of other processes that a release notified without effect, by id

	deposited bool // whether a request was ever deposited in a row
}

// join adds a waiter for key. It returns the row, whether the caller must write it, and whether the process starts to
// wait now.
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
// longer. The channel is nil if that is so already.
func (s *waiters) leave(r *row, w *waiter) (gone <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone = r.leave(w)
	if !r.hasWaiters() {
		s.listener.poke()
	}
	return gone
}

// wrote records that r was written with channel. It returns the present channel, and whether that is still the same.
func (s *waiters) wrote(r *row, channel string) (now string, same bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.wrote()
	now = s.listener.heardOn()
	return now, now == channel
}

// asking says how a request is sent for a row.
type asking struct {
	row      *row
	revives  bool // writes a row that is passed over again; its time in the queue starts now
	deposits bool // a later release may grant the request
}

// id returns the row's id as a parameter, or NULL without a row.
func (a asking) id() any {
	if a.row == nil {
		return nil
	}
	return a.row.id
}

// mode returns the mode parameter of acquire_waiting.sql.
func (a asking) mode() int64 { return sqlbase.Flag(a.deposits) + 2*sqlbase.Flag(a.revives) }

// asks returns the row for which r is sent. That row has a waiter, or is expected to get a waiter, or had a waiter a
// moment ago and may get one again.
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

// answered records the answer to a request for the row by. deposited reports whether the statement wrote the request
// into the row. answered reports whether the row must be written again, because no release notifies it. If a release
// notified a row of another process without effect, that row is deleted: the process may be dead. If it lives, it soon
// writes its row again.
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

// granted records that this process was granted the lock of key, by a hand-over within the process or by a release.
func (s *waiters) granted(key driver.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[key]; r != nil && r.hasWaiters() {
		r.granted()
	}
}

// promised reports whether a notification has claimed that a release granted the lock of key to a waiter's request. It
// reports each notification once.
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

// callable returns the id of the row by which a release may notify this process's waiters for key, or nil.
func (s *waiters) callable(key driver.Key) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[key]; r != nil && (r.state == unwritten || r.state == listed) {
		return r.id
	}
	return nil
}

// released returns the id of the row that a release of key passes over, or "". That row belongs to this process, which
// was granted the lock or no longer waits. crowded reports that this process waits or waited for key: other processes
// then probably wait, too.
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

// anyDeposited reports whether a request was ever deposited in a row.
func (s *waiters) anyDeposited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deposited
}

// forsake deletes the row in which a request was deposited and whose waiter did not arrive. It returns a channel that
// is closed after the deletion, or nil if there is no such row.
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

// hear records what a notification says about the row id, or about every row if id is empty. A release may have
// notified a row that was being deleted instead of the row that replaces it.
func (s *waiters) hear(id string, what heard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if id == "" && r.state != unwritten || id != "" && (r.id == id || r.replaces == id) {
			r.hear(what)
		}
	}
}

// work is what the listener must write.
type work struct {
	stay, remove []*row
	dead         []*row // rows of other processes
	sweep        bool
}

// due returns what to write now. At a tick these are the rows of all waiters. Rows that are kept for a waiter that
// returns are deleted at a tick, or at once if keep is false. idle reports that no row is left. The next waiter then
// starts a new listener.
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

// again returns what a new connection must write: the rows of earlier waiters.
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

// done records that w was written. After a failure, releases soon pass over the rows.
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
