package mysql

import (
	"context"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// leaveLimit bounds what a waiter that gives up does for those who wait on.
const leaveLimit = time.Second

// waiters are the names that this process waits for. Each process that waits for one writes itself into the lock's
// row, once, behind those that are there. The first in line says again about once a second that it is there, and a release
// keeps the name for it for a moment. Whoever has released cannot come in between, and who stands further back asks less
// often. A grant takes its process out of the line. Who has died there costs those behind it that moment, three times at most.
//
// Nobody is woken: neither server can tell, unless a connection waits in it.
type waiters struct {
	id driver.Nonce // of this process

	mu    sync.Mutex
	byKey map[driver.Key]*waiter
}

type waiter struct {
	places int  // calls of Notify that have not been stopped
	listed bool // it is written into the row
}

func newWaiters() *waiters {
	return &waiters{id: driver.NewNonce(), byKey: map[driver.Key]*waiter{}}
}

// Notify has this process stand in line from the next refusal on. It wakes nobody, and asks nothing yet.
func (m *Backend) Notify(_ context.Context, key driver.Key, _ func()) (stop func(), err error) {
	m.waiters.join(key)
	return func() {
		if m.waiters.leave(key) {
			m.leave(key)
		}
	}, nil
}

func (w *waiters) join(key driver.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byKey[key] == nil {
		w.byKey[key] = new(waiter)
	}
	w.byKey[key].places++
}

// leave reports whether the row of a name that nobody waits for any more is to be cleaned.
func (w *waiters) leave(key driver.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byKey[key]
	if one.places--; one.places > 0 {
		return false
	}
	delete(w.byKey, key)
	return one.listed
}

// waits reports whether this process waits for key.
func (w *waiters) waits(key driver.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byKey[key] != nil
}

// listed notes whether the row names this process.
func (w *waiters) listed(key driver.Key, listed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.byKey[key]; one != nil {
		one.listed = listed
	}
}

// standInLine writes this process into the row, after a refusal that said that it should. What comes of it is of no
// consequence for the refusal: who is not in line asks all the same.
func (s *server) standInLine(ctx context.Context, key driver.Key, refusal sqlbase.Answer) {
	if !refusal.Unlisted || !s.waiters.waits(key) {
		return
	}
	namespace, name, waiter := sqlbind.MySQLBytes(key.Namespace), sqlbind.MySQLBytes(key.Name), s.waiters.id.String()
	args := []any{waiter, waiter, waiter, waiter, waiter, namespace, name, waiter, waiter}
	if !s.mariadb {
		args = append(args, namespace, name)
	}
	done, err := s.q.Exec(ctx, s.sql["wait"], args...)
	if err != nil || done.Affected > 0 { // without an answer it may be
		s.waiters.listed(key, true)
	}
}

// leave gives up the place, so that no release keeps the name for who does not wait any more. If that fails, one does,
// for a moment.
func (m *Backend) leave(key driver.Key) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	s, err := m.server(ctx)
	if err != nil {
		return
	}
	namespace, name, waiter := sqlbind.MySQLBytes(key.Namespace), sqlbind.MySQLBytes(key.Name), m.waiters.id.String()
	args := []any{waiter, waiter, namespace, name, waiter}
	if !s.mariadb {
		args = append(args, namespace, name)
	}
	_, _ = s.q.Exec(ctx, s.sql["leave"], args...)
}
