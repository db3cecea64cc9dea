package sqllock

import (
	"context"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// leaveLimit bounds what a waiter that gives up does for those who wait on.
const leaveLimit = time.Second

// mysqlWaiters are the names that this process waits for. Of all processes that wait for one, the first that finds the
// place vacant writes itself into the lock's row, says again about once a second that it is there, and a release keeps the
// name for it for a moment. Whoever has released cannot come in between, and the others ask half as often. Further waiters of
// the process that has the name leave the others 20 ms to take the place.
//
// Nobody is woken: neither server can tell, unless a connection waits in it.
type mysqlWaiters struct {
	id driver.Nonce // of this process

	mu    sync.Mutex
	byKey map[driver.Key]*waiter
}

type waiter struct {
	places int  // calls of Notify that have not been stopped
	next   bool // it is written into the row
}

func newWaiters() *mysqlWaiters {
	return &mysqlWaiters{id: driver.NewNonce(), byKey: map[driver.Key]*waiter{}}
}

// Notify has this process compete for the place of the one that is next. It wakes nobody, and asks nothing yet.
func (m *mysql) Notify(_ context.Context, key driver.Key, _ func()) (stop func(), err error) {
	m.waiters.join(key)
	return func() {
		if m.waiters.leave(key) {
			m.leave(key)
		}
	}, nil
}

func (w *mysqlWaiters) join(key driver.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byKey[key] == nil {
		w.byKey[key] = new(waiter)
	}
	w.byKey[key].places++
}

// leave reports whether the row of a name that nobody waits for any more is to be cleaned.
func (w *mysqlWaiters) leave(key driver.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byKey[key]
	if one.places--; one.places > 0 {
		return false
	}
	delete(w.byKey, key)
	return one.next
}

// of is how the statements for key name this process: "" if it does not wait for it.
func (w *mysqlWaiters) of(key driver.Key) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byKey[key] == nil {
		return ""
	}
	return w.id.String()
}

// isNext notes whether the row names this process.
func (w *mysqlWaiters) isNext(key driver.Key, next bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.byKey[key]; one != nil {
		one.next = next
	}
}

// compete takes the place of the one that is next, if it is vacant, after a refusal that said so. What comes of it is of
// no consequence for the refusal: without the place the waiter asks all the same.
func (s *mysqlServer) compete(ctx context.Context, key driver.Key, refusal *answer) {
	waiter := s.waiters.of(key)
	if !refusal.vacant || waiter == "" {
		return
	}
	namespace, name := hexed(key.Namespace), hexed(key.Name)
	args := []any{waiter, namespace, name, waiter}
	if !s.mariadb {
		args = append(args, namespace, name)
	}
	done, err := s.q.exec(ctx, s.sql["wait"], args...)
	next := err == nil && done.affected > 0
	s.waiters.isNext(key, next || err != nil) // without an answer it may be
	if !next {
		refusal.ahead = 1
	}
}

// leave gives up the place, so that no release keeps the name for who does not wait any more. If that fails, the
// releases of the next three seconds do, for a moment each.
func (m *mysql) leave(key driver.Key) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	s, err := m.server(ctx)
	if err != nil {
		return
	}
	namespace, name := hexed(key.Namespace), hexed(key.Name)
	args := []any{namespace, name, m.waiters.id.String()}
	if !s.mariadb {
		args = append(args, namespace, name)
	}
	_, _ = s.q.exec(ctx, s.sql["leave"], args...)
}
