package sqlitefile

import (
	"context"
	"os"
	"time"

	"github.com/rowlock/rowlock/internal/backoff"
)

const (
	hotTick  = time.Millisecond      // between two looks at a file that has just changed
	calmTick = 10 * time.Millisecond // at one that has not for hotFor
	hotFor   = 100 * time.Millisecond
)

// statEye looks at the size and the time of a file again and again.
type statEye struct {
	path   string
	last   state
	at     time.Time // of the last change
	ctx    context.Context
	cancel context.CancelFunc
}

// state is what a write changes, but for two writes of the same size within one step of the file system's clock.
type state struct {
	size    int64
	written time.Time
}

func newStatEye(path string) *statEye {
	ctx, cancel := context.WithCancel(context.Background())
	return &statEye{path: path, ctx: ctx, cancel: cancel}
}

func (e *statEye) interrupt() { e.cancel() }
func (e *statEye) close()     { e.cancel() }

func (e *statEye) wait(until time.Time) bool {
	for {
		now := time.Now()
		if s := e.look(); s != e.last {
			e.last, e.at = s, now
			return true
		}
		left := until.Sub(now)
		if left <= 0 || e.ctx.Err() != nil {
			return false
		}
		tick := calmTick
		if now.Sub(e.at) < hotFor {
			tick = hotTick
		}
		backoff.Sleep(e.ctx, min(tick, left))
	}
}

// look is at the write-ahead log, or at the file itself if there is none.
func (e *statEye) look() state {
	info, err := os.Stat(e.path + "-wal")
	if err != nil {
		info, err = os.Stat(e.path)
	}
	if err != nil {
		return e.last
	}
	return state{info.Size(), info.ModTime()}
}
