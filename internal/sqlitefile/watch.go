package sqlitefile

import (
	"context"
	"fmt"
	"os"
	"time"
)

// How often a file is looked at. A look is one stat, of about 2 µs.
const (
	// hotTick is for a file that has just changed, calmTick for one that has not for hotFor.
	hotTick  = time.Millisecond
	calmTick = 4 * time.Millisecond
	hotFor   = 250 * time.Millisecond
	// coarse is more than the step in which file systems count time: two changes within one step look like one.
	coarse = 10 * time.Millisecond
	// echoes bounds how long after a change the file may still become another for readers: the
	// write is seen before it has been flushed, and counts after that only.
	echoes = time.Second
)

// state is what a change of a database file changes. In WAL mode what is written is written to the log, else
// to the file itself.
type state struct {
	size    int64
	written time.Time
}

func look(path string) (state, error) {
	info, err := os.Stat(path + "-wal")
	if err != nil {
		info, err = os.Stat(path)
	}
	if err != nil {
		return state{}, err
	}
	return state{info.Size(), info.ModTime()}, nil
}

// Watchable reports why a database file cannot be watched.
func Watchable(path string) error {
	if _, err := look(path); err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	return nil
}

// Watch calls changed at once, and whenever somebody may have written to the database file, until ctx ends: within a few
// milliseconds of the write, and some times more with growing pauses, for a second, because a write can be seen before it
// counts, or at the same reading of the clock as the one before. It calls it no more often than once in a millisecond.
func Watch(ctx context.Context, path string, changed func()) {
	var last state
	var at, next time.Time // of the last change, and of the next call
	var pause time.Duration
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		now := time.Now()
		if s, err := look(path); err == nil && s != last {
			last, at, next, pause = s, now, now, hotTick
		}
		if since := now.Sub(at); !now.Before(next) && since < echoes {
			changed()
			if since > coarse {
				pause *= 2
			}
			next = now.Add(pause)
		}
		if now.Sub(at) < hotFor {
			timer.Reset(hotTick)
		} else {
			timer.Reset(calmTick)
		}
	}
}
