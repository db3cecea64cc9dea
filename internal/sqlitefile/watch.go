package sqlitefile

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/rowlock/rowlock/internal/backoff"
)

const (
	// firstEcho is how soon after a change the file is taken to have changed again, and the least time
	// between two calls.
	firstEcho = time.Millisecond
	// lastEcho is how often it is taken to have changed when nothing is seen.
	lastEcho = time.Second
)

// Watchable reports why a database file cannot be watched.
func Watchable(path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	return nil
}

// Watch calls changed at once, and whenever somebody has written to the database file, until ctx ends: on Linux
// within a millisecond, by inotify; elsewhere, and where there are no more watches to be had, within some, by
// the file's size and time.
//
// It calls changed again after twice the time each, and no more often than once in a millisecond: a write can be seen before it
// counts, which it does when it has been flushed, and two writes can be of the same size and time.
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

// eye sees that a database file was written.
type eye interface {
	// wait returns true when it was, and false when it is time or interrupted.
	wait(until time.Time) bool
	// interrupt ends wait, now and from now on.
	interrupt()
	close()
}
