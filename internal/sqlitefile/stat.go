package sqlitefile

import (
	"context"
	"os"
	"time"

	"github.com/rowlock/rowlock/internal/backoff"
)

const (
	hotTick  = time.Millisecond      // the delay between two checks of a file that has just changed
	calmTick = 10 * time.Millisecond // the delay between two checks of a file that has not changed for hotFor
	hotFor   = 100 * time.Millisecond
)

// statEye implements the interface eye: it polls the size and the modification time of a file.
type statEye struct {
	path   string
	last   state
	at     time.Time // the time of the last change
	ctx    context.Context
	cancel context.CancelFunc
}

// state contains the attributes that a write changes. If two writes leave the same size within one step of the file
// system's clock, the second write changes neither attribute.
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

// look returns the state of the write-ahead log, or of the database file if there is no log.
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
