package sqlite

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlitefile"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// watchable says that a file which another process has written shows it while it is open. On Windows
// the time of the last write can stay as it was until the file is closed.
const watchable = runtime.GOOS != "windows"

// turnLimit bounds one look at a lock's row.
const turnLimit = time.Second

// sqliteWatcher looks whether the file has changed, for as long as somebody waits, and then whose turn it is.
type sqliteWatcher struct{ cancel context.CancelFunc }

// watchLinger is how long the file is watched yet when nobody waits any more: who has released often waits again soon. It is not
// left before whoever was granted the lock goes on, because to close an inotify instance takes the kernel ten milliseconds and more.
const watchLinger = 100 * time.Millisecond

// unwatch ends the watching if nobody waits.
func (s *Backend) unwatch() {
	s.waiters.mu.Lock()
	defer s.waiters.mu.Unlock()
	if w := s.waiters.watcher; w != nil && len(s.waiters.byKey) == 0 {
		w.cancel()
		s.waiters.watcher = nil
	}
}

// watch starts a watcher, if there is a file that can be watched: a database in memory has none, and those who wait for a lock in
// one are in this process.
func (s *Backend) watch(file string) *sqliteWatcher {
	if file == "" || !watchable {
		return nil
	}
	if err := sqlitefile.Watchable(file); err != nil {
		s.waiters.unseen = fmt.Sprintf("the file of the database cannot be watched, so that waiters of other processes poll: %v", err)
		return nil
	}
	s.waiters.unseen = ""
	ctx, cancel := context.WithCancel(context.Background())
	go sqlitefile.Watch(ctx, file, func() { s.wakeByTurn(ctx) })
	return &sqliteWatcher{cancel}
}

// warnings says what weakens the wake-ups.
func (ws *waiters) warnings() []string {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.unseen == "" {
		return nil
	}
	return []string{ws.unseen}
}

// wakeByTurn wakes those who would get what they wait for.
func (s *Backend) wakeByTurn(ctx context.Context) {
	for key, w := range s.waiters.all() {
		if s.isTurnOf(ctx, key, w) {
			w.wake()
		}
	}
}

func (s *Backend) isTurnOf(ctx context.Context, key driver.Key, w *waiter) bool {
	ctx, cancel := context.WithTimeout(ctx, turnLimit)
	defer cancel()
	turn := false
	err := s.read(ctx, turnLimit, func(q sqlbase.Querier) (err error) {
		turn, err = sqlbase.QueryOne(ctx, q, s.sql["turn"], []any{key.Namespace, key.Name, w.id}, new(int))
		return err
	})
	return err == nil && turn
}
