package advisory

// watch reads from the connection until the next turn, if anything lives on it. A server that ends
// the session, or its machine, says so; nobody has to ask.
func (se *session) watch() {
	if se.conn == nil || !se.conn.watches() {
		return
	}
	watched := make(chan struct{})
	se.watched = watched
	go func() {
		defer close(watched)
		if err := se.conn.wait(); err != nil {
			se.finish(err)
		}
	}()
}

// unwatch has the connection to itself when it returns.
func (se *session) unwatch() {
	if se.watched == nil {
		return
	}
	se.conn.interrupt()
	<-se.watched
	se.watched = nil
}
