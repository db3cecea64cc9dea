package mysqlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sessionlock"
)

// watchEvery is how often the connection of a session is looked at between statements.
const watchEvery = 100 * time.Millisecond

// Watch looks at the connection, as long as the session lasts, so that an end that the server or its
// machine has told of is noticed long before the next heartbeat.
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
				continue // in use: whoever has the turn notices
			}
			_ = se.look(se.Context())
			se.Leave()
		}
	}()
}

// look finds a connection that has ended.
func (se *session) look(ctx context.Context) error {
	if err := se.conn.alive(ctx); err != nil {
		se.Broken = errClosed
		return driver.NotApplied(sessionlock.ErrGone)
	}
	return nil
}

// Watches reports that the end of the connection is noticed between turns.
func (se *session) Watches() bool { return true }

// Unwatch does nothing: whoever looks takes the turn.
func (se *session) Unwatch() {}

// Ended is for those who would know of an end without looking.
func (se *session) Ended() bool { return false }
