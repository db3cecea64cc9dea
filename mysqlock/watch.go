package mysqlock

import "time"

// watchEvery is how often the connection of a session is looked at between statements.
const watchEvery = 100 * time.Millisecond

// watch looks at the connection, as long as the session lasts, so that an end that the server or its
// machine has told of is noticed long before the next heartbeat. For one who has the turn.
func (se *session) watch() {
	if se.watched || se.conn == nil {
		return
	}
	se.watched = true
	go func() {
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-se.ctx.Done():
				return
			}
			select {
			case se.turn <- struct{}{}:
			default:
				continue // in use: whoever has the turn notices
			}
			_ = se.look(se.ctx)
			se.leave()
		}
	}()
}
