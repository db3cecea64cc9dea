package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlitefile"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

const (
	// seenEvery is how often a waiter's row is written while it waits. Releases pass over one that was
	// not seen for 3 s.
	seenEvery = time.Second
	// seenWait is how long that may wait for another writer: it can be done with the next attempt.
	seenWait = 20 * time.Millisecond
	// forgetWait bounds the removal of a waiter's row, which holds up whoever has waited.
	forgetWait = 100 * time.Millisecond
)

// waiter is who waits for one name in this process: all lockers that share the backend. A nil
// one is nobody.
type waiter struct {
	id string

	mu    sync.Mutex
	wakes map[int]func() // of each locker
	next  int
	seen  time.Time // when its row was last written; zero while there is none
}

// local has the waiters of this process by id, whatever backend they are of: a release tells them without a look at the file.
var local sync.Map

// wakeLocal tells a waiter, if it is one of this process, that a lock is kept for it.
func wakeLocal(id string) {
	if w, ok := local.Load(id); ok {
		w.(*waiter).wake()
	}
}

func (w *waiter) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wake := range w.wakes {
		wake()
	}
}

// param is the waiter as a parameter of a statement.
func (w *waiter) param() any {
	if w == nil {
		return nil
	}
	return w.id
}

// registered reports whether the waiter has a row.
func (w *waiter) registered() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.seen.IsZero()
}

// gone takes note that the row was deleted: the waiter has got the lock, and waits anew if it waits again.
func (w *waiter) gone() {
	if w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = time.Time{}
	}
}

// waiters are the waiters of one backend.
type waiters struct {
	mu      sync.Mutex
	byKey   map[driver.Key]*waiter
	watcher *sqliteWatcher // nil while nobody waits
	unseen  string         // why the file cannot be watched, if it was tried
}

// of is who waits for key, or nil.
func (ws *waiters) of(key driver.Key) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.byKey[key]
}

// all is a copy of byKey.
func (ws *waiters) all() map[driver.Key]*waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	copied := make(map[driver.Key]*waiter, len(ws.byKey))
	for key, w := range ws.byKey {
		copied[key] = w
	}
	return copied
}

// Notify writes a row for who waits for key, so that a release keeps the lock for it, and watches the file
// while there is one.
func (s *Backend) Notify(ctx context.Context, key driver.Key, wake func()) (stop func(), err error) {
	file, err := s.file(ctx, sqlbase.LongRetry)
	if err != nil {
		return nil, s.classify(ctx, "wait for", key, err)
	}
	w, place := s.join(key, wake, file.path)
	leave := func() { s.leave(key, w, place) }
	// While the file is busy the row cannot be written: the next refusal does it. Who does not watch only polls, and is passed by.
	if err := s.register(ctx, key, w, true); err != nil && (!sqlitefile.Busy(err) || ctx.Err() != nil) {
		leave()
		return nil, s.classify(ctx, "wait for", key, err)
	}
	return sync.OnceFunc(leave), nil
}

func (s *Backend) join(key driver.Key, wake func(), file string) (w *waiter, place int) {
	s.waiters.mu.Lock()
	defer s.waiters.mu.Unlock()
	w = s.waiters.byKey[key]
	if w == nil {
		w = &waiter{id: driver.NewNonce().String(), wakes: map[int]func(){}}
		if s.waiters.byKey == nil {
			s.waiters.byKey = map[driver.Key]*waiter{}
		}
		s.waiters.byKey[key] = w
		local.Store(w.id, w)
	}
	if s.waiters.watcher == nil {
		s.waiters.watcher = s.watch(file)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	w.wakes[w.next] = wake
	return w, w.next
}

// leave ends the watching with the last waiter, and deletes the row of one that gives up.
func (s *Backend) leave(key driver.Key, w *waiter, place int) {
	s.waiters.mu.Lock()
	w.mu.Lock()
	delete(w.wakes, place)
	last, row := len(w.wakes) == 0, !w.seen.IsZero()
	w.mu.Unlock()
	if last {
		delete(s.waiters.byKey, key)
		local.Delete(w.id)
	}
	if len(s.waiters.byKey) == 0 && s.waiters.watcher != nil {
		time.AfterFunc(watchLinger, s.unwatch)
	}
	s.waiters.mu.Unlock()
	if !last || !row {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), forgetWait)
	defer cancel()
	_ = s.write(ctx, manner{limit: forgetWait, relaxed: true}, func(q sqlbase.Querier) error { // a row that stays is passed over soon
		return s.unregister(ctx, q, key, w)
	})
}

// seen writes the row of a waiter that was refused, unless that was done lately.
func (s *Backend) seen(ctx context.Context, key driver.Key, w *waiter) {
	if w == nil {
		return
	}
	w.mu.Lock()
	due, limit := time.Since(w.seen) >= seenEvery, seenWait
	if w.seen.IsZero() { // it is not in line yet
		limit = writerWait
	}
	w.mu.Unlock()
	if due {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		_ = s.register(ctx, key, w, false) // it can be done with the next attempt
	}
}

// register writes the waiter's row; the first time it forgets those of processes that have ended.
func (s *Backend) register(ctx context.Context, key driver.Key, w *waiter, first bool) error {
	now := time.Now()
	err := s.write(ctx, manner{limit: writerWait, together: first, relaxed: true}, func(q sqlbase.Querier) error {
		if _, err := q.Exec(ctx, s.sql["register"], key.Namespace, key.Name, w.id); err != nil || !first {
			return err
		}
		_, err := q.Exec(ctx, s.sql["forget_waiters"])
		return err
	})
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = now
	}
	return err
}

// unregister deletes the waiter's row, if it has one.
func (s *Backend) unregister(ctx context.Context, q sqlbase.Querier, key driver.Key, w *waiter) error {
	if !w.registered() {
		return nil
	}
	_, err := q.Exec(ctx, s.sql["unregister"], key.Namespace, key.Name, w.id)
	return err
}
