package mysqlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sessionlock"
)

// watchEvery is the interval of checks of a session's connection between statements.
const watchEvery = 100 * time.Millisecond

// Watch checks the connection until the session ends. It notices an end that the server has sent long before the next
// heartbeat.
func (se *session) Watch() {
	if se.watched {
		return
	}
	se.watched = true
	go func() {
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-se.Context().Done():
				return
			}
			if !se.TryTake() {
				continue // the session is in use, and the goroutine that has the turn notices its end
			}
			_ = se.look(se.Context())
			se.Leave()
		}
	}()
}

// look checks whether the connection has ended.
func (se *session) look(ctx context.Context) error {
	if err := se.conn.alive(ctx); err != nil {
		se.Broken = errClosed
		return driver.NotApplied(sessionlock.ErrGone)
	}
	return nil
}

// Watches reports that the end of the connection is noticed between turns.
func (se *session) Watches() bool { return true }

// Unwatch does nothing, because the watching goroutine takes the turn for each check.
func (se *session) Unwatch() {}

// Ended returns false, because only a check finds out.
func (se *session) Ended() bool { return false }
