package mysqlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sessionlock"
)

// watchEvery is the interval at which a session checks between statements whether its connection has ended.
const watchEvery = 100 * time.Millisecond

// Watch starts a goroutine that checks the connection until the session ends. If the server closes the connection, the
// goroutine notices that long before the next heartbeat.
func (se *session) Watch() {
	if se.watched || !se.Watches() {
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
				continue // another goroutine uses the session, and notices itself if the connection has ended
			}
			_ = se.look(se.Context())
			se.Leave()
		}
	}()
}

// look marks the session as broken if the connection has ended.
func (se *session) look(ctx context.Context) error {
	if err := se.conn.alive(ctx); err != nil {
		se.Broken = errClosed
		return driver.NotApplied(sessionlock.ErrGone)
	}
	return nil
}

// Watches reports whether Watch can check the connection between statements.
func (se *session) Watches() bool { return se.conn != nil && se.conn.checks }

// Unwatch does nothing. The goroutine of Watch reserves the session for each check, so it never uses the connection
// at the same time as another goroutine.
func (se *session) Unwatch() {}

// Ended returns false, because the state of the connection is known only after a check.
func (se *session) Ended() bool { return false }
