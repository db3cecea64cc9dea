package sqllock

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlitefile"
)

// watchable says that a file which another process has written shows it while it is open. On Windows
// the time of the last write can stay as it was until the file is closed.
const watchable = runtime.GOOS != "windows"

// turnLimit bounds one look at a lock's row.
const turnLimit = time.Second

// sqliteWatcher looks whether the file has changed, for as long as somebody waits, and then whose turn it is.
type sqliteWatcher struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// stop ends a watcher; a nil one has ended.
func (w *sqliteWatcher) stop() {
	if w != nil {
		w.cancel()
		w.done.Wait()
	}
}

// watch starts a watcher, if there is a file that can be watched: a database in memory has none, and those who wait for a lock in
// one are in this process.
func (s *sqlite) watch(file string) *sqliteWatcher {
	if file == "" || !watchable {
		return nil
	}
	if err := sqlitefile.Watchable(file); err != nil {
		s.waiters.unseen = fmt.Sprintf("the file of the database cannot be watched, so that waiters of other processes poll: %v", err)
		return nil
	}
	s.waiters.unseen = ""
	ctx, cancel := context.WithCancel(context.Background())
	w := &sqliteWatcher{cancel: cancel}
	w.done.Go(func() { sqlitefile.Watch(ctx, file, func() { s.wakeByTurn(ctx) }) })
	return w
}

// warnings says what weakens the wake-ups.
func (ws *sqliteWaiters) warnings() []string {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.unseen == "" {
		return nil
	}
	return []string{ws.unseen}
}

// wakeByTurn wakes those who would get what they wait for.
func (s *sqlite) wakeByTurn(ctx context.Context) {
	for key, w := range s.waiters.all() {
		if s.isTurnOf(ctx, key, w) {
			w.wake()
		}
	}
}

func (s *sqlite) isTurnOf(ctx context.Context, key driver.Key, w *sqliteWaiter) bool {
	ctx, cancel := context.WithTimeout(ctx, turnLimit)
	defer cancel()
	turn := false
	err := s.read(ctx, turnLimit, func(q querier) (err error) {
		turn, err = queryOne(ctx, q, s.sql["turn"], []any{key.Namespace, key.Name, w.id}, new(int))
		return err
	})
	return err == nil && turn
}

// file is the path of the database file, or empty.
func (s *sqlite) file(ctx context.Context) (path string, err error) {
	err = s.call(ctx, func(q querier) error {
		_, err := queryOne(ctx, q, s.sql["file"], []any{s.table.Schema()}, &path)
		return err
	})
	return path, s.classify(ctx, "find the file of", driver.Key{}, err)
}
