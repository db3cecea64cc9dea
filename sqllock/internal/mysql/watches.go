package mysql

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// watches calls the waiters of a released lock again if nobody acquires the lock. The call of a release may be lost,
// because the ear was between two sleeps. The process that was called may be dead or suspended. And the first process
// of the queue may have no reservation, because it no longer counts as waiting. So the process that has released a lock
// looks at the lock when the reservation has ended. While nobody holds the lock, it calls the first two processes of
// the queue, then the second and the third, and so on.
type watches struct {
	every time.Duration // the time between a release and the first look, and between two looks

	mu    sync.Mutex
	byKey map[driver.Key]*watch
}

// watch is the goroutine for one lock.
type watch struct {
	released bool          // the lock has been released since the last look; guarded by the mutex of watches
	hurry    chan struct{} // closed by closeIdle: the goroutine looks once more, at once, and ends
	ended    chan struct{}
}

const (
	watchEvery = 55 * time.Millisecond // a reservation ends after 50 ms
	watchTries = 5                     // after so many errors in a row, a watch ends; that the lock is reserved counts as one
	watchLimit = time.Second           // bounds a look and its calls
)

// errReserved reports a reservation that should have ended. It may last longer if the server's clock was set back.
var errReserved = errors.New("the lock is still reserved")

func newWatches() *watches { return &watches{every: watchEvery, byKey: map[driver.Key]*watch{}} }

// released records that this process has released the lock of key, for which other processes wait.
func (ws *watches) released(s *server, key driver.Key) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w := ws.byKey[key]; w != nil {
		w.released = true
		return
	}
	w := &watch{true, make(chan struct{}), make(chan struct{})}
	ws.byKey[key] = w
	go ws.run(w, s, key)
}

// run looks at the lock until somebody holds it, or each process of the queue has been called.
func (ws *watches) run(w *watch, s *server, key driver.Key) {
	defer close(w.ended)
	tick := time.NewTicker(ws.every)
	defer tick.Stop()
	for place, failed := 1, 0; ; {
		hurry := false
		select {
		case <-tick.C:
		case <-w.hurry:
			hurry = true
		}
		if ws.takeReleased(w) {
			place = 1
		}
		next, again, err := s.callFrom(key, place, hurry)
		if err == nil {
			place, failed = next, 0
		} else {
			failed++
			again = failed < watchTries
		}
		if hurry || !again && ws.remove(w, key) {
			return
		}
	}
}

// takeReleased reports whether the lock has been released since the last call of takeReleased.
func (ws *watches) takeReleased(w *watch) (released bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	released, w.released = w.released, false
	return released
}

// remove removes w, unless the lock has been released since the last look.
func (ws *watches) remove(w *watch, key driver.Key) (removed bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w.released {
		return false
	}
	if ws.byKey[key] == w {
		delete(ws.byKey, key)
	}
	return true
}

// closeIdle makes every goroutine look at once, and waits until they have ended or ctx ends.
func (ws *watches) closeIdle(ctx context.Context) {
	ws.mu.Lock()
	var ended []chan struct{}
	for key, w := range ws.byKey {
		close(w.hurry)
		delete(ws.byKey, key)
		ended = append(ended, w.ended)
	}
	ws.mu.Unlock()
	for _, e := range ended {
		select {
		case <-e:
		case <-ctx.Done():
			return
		}
	}
}

// queueRow is the row that ears.sql returns.
type queueRow struct {
	ear, nextEar   int64
	free, reserved bool
	gone           string
}

// queue reads the queue of key, from the position place on. Without a queue it returns the zero value.
func (s *server) queue(ctx context.Context, key driver.Key, place int) (q queueRow, err error) {
	namespace, name := encoded(key)
	_, err = s.queryRow(ctx, "ears", []any{place, place, namespace, name}, &q.ear, &q.nextEar, &q.free, &q.reserved, &q.gone)
	return q, err
}

// callFrom calls the process at the position place of the queue, and the next process, if nobody holds the lock. It
// returns the position from which to call next, and whether there is more to do. While the lock is reserved, callFrom
// returns errReserved and calls nobody, unless hurry is true. It removes the first process of the queue if that process
// no longer counts as waiting. If that process is alive, it joins the queue again.
func (s *server) callFrom(key driver.Key, place int, hurry bool) (next int, again bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), watchLimit)
	defer cancel()
	q, err := s.queue(ctx, key, place)
	if q.gone != "" {
		s.leave(ctx, key, q.gone)
		place = 1
		q, err = s.queue(ctx, key, place)
	}
	switch {
	case err != nil || !q.free || q.ear == 0:
		return place, false, err
	case q.reserved && !hurry:
		return place, false, errReserved
	}
	_ = s.call(ctx, q.ear)
	_ = s.call(ctx, q.nextEar)
	return place + 1, q.nextEar != 0, nil
}

// leave removes a process from the queue of key. If the lock was reserved for that process, it is then reserved for the
// next one, and leave returns the number of the ear of the next one.
func (s *server) leave(ctx context.Context, key driver.Key, process string) (ear int64) {
	namespace, name := encoded(key)
	done, err := s.q.Exec(ctx, s.sql["leave"], s.skipLocked(key, []any{process, process, process, process, process, namespace, name, process})...)
	if err != nil {
		return 0
	}
	return done.LastID
}
