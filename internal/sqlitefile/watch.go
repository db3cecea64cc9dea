package sqlitefile

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/rowlock/rowlock/internal/backoff"
)

const (
	// firstEcho is the delay before changed is called again after a change, and the least time between two calls.
	firstEcho = time.Millisecond
	// lastEcho is the time between two calls when no change is seen.
	lastEcho = time.Second
)

// Watchable returns an error if a database file cannot be watched.
func Watchable(path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	return nil
}

// Watch calls changed at once, and after each write to the database file by any process, until ctx ends. On Linux it
// uses inotify and calls within a millisecond. On other systems, and if no more inotify watches are available, it polls
// the file's size and time, which takes some milliseconds.
//
// It calls changed again after delays that double each time, and at most once in a millisecond. There are two reasons:
// a write can be visible before it is flushed and counts, and two writes can have the same size and time.
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

// eye notices writes to a database file.
type eye interface {
	// wait returns true after a write, and false at the time until or after interrupt.
	wait(until time.Time) bool
	// interrupt ends wait, now and from now on.
	interrupt()
	close()
}
