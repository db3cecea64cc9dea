package sqlitefile

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/rowlock/rowlock/internal/backoff"
)

const (
	// firstEcho is the delay between the first and the second call of the function changed after a change. It is also
	// the shortest time between two calls.
	firstEcho = time.Millisecond
	// lastEcho is the time between two calls while no change is detected.
	lastEcho = time.Second
)

// Watchable returns an error if a database file cannot be watched.
func Watchable(path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	return nil
}

// Watch calls the function changed at once, and then after each write to the database file by any process, until ctx
// ends. On Linux it uses inotify, and calls that function within a millisecond. On other systems, and if the kernel
// provides no further inotify instance, it polls the file's size and modification time. It then calls the function
// within some milliseconds.
//
// After each change, it repeats the call with delays that double each time. There are two reasons. A write changes
// the file before the transaction is committed. Two writes can leave the same size and time. The function changed is
// called at most once in a millisecond.
func Watch(ctx context.Context, path string, changed func()) { watch(ctx, open(path), changed) }

func watch(ctx context.Context, e eye, changed func()) {
	defer e.close()
	defer context.AfterFunc(ctx, e.interrupt)()
	var last time.Time
	next := time.Now()
	for echo := firstEcho; ; echo = min(2*echo, lastEcho) {
		if e.wait(next) {
			echo = firstEcho
			backoff.Sleep(ctx, time.Until(last.Add(firstEcho)))
		}
		if ctx.Err() != nil {
			return
		}
		changed()
		last = time.Now()
		next = last.Add(echo)
	}
}

// eye detects writes to a database file.
type eye interface {
	// wait blocks until the file is written, and then returns true. It returns false at the given time, or after
	// interrupt was called.
	wait(until time.Time) bool
	// interrupt makes the current and all later calls of wait return at once.
	interrupt()
	close()
}
