package advisory

// Watches reports whether Watch can notice that the connection ends.
func (se *session) Watches() bool { return se.conn != nil && se.conn.watches() }

// Watch starts a goroutine that reads from the connection until Unwatch is called. When the server ends the session
// or its host shuts down, the read ends at once.
func (se *session) Watch() {
	if !se.Watches() {
		return
	}
	watched := make(chan struct{})
	se.watched = watched
	go func() {
		defer close(watched)
		if err := se.conn.wait(); err != nil {
			se.Finish(err)
		}
	}()
}

// Unwatch stops the reading, and returns when no other goroutine uses the connection.
func (se *session) Unwatch() {
	if se.watched == nil {
		return
	}
	se.conn.interrupt()
	<-se.watched
	se.watched = nil
}
