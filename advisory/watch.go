package advisory

import "time"

// watchDelay is how long a session is unused before its connection is read. A lock that is released earlier costs no
// goroutine. To start and stop one costs a fifth of the time of an acquire and release.
const watchDelay = time.Millisecond

// Watches reports whether Watch can notice that the connection ends.
func (se *session) Watches() bool { return se.conn != nil && se.conn.watches() }

// Watch reads from the connection, from watchDelay after the call until Unwatch is called. When the server ends the
// session or its host shuts down, the read ends at once.
func (se *session) Watch() {
	if !se.Watches() {
		return
	}
	se.watched = make(chan struct{})
	if se.starts == nil {
		se.starts = time.AfterFunc(watchDelay, se.read)
	} else {
		se.starts.Reset(watchDelay)
	}
}

func (se *session) read() {
	defer close(se.watched)
	if err := se.conn.wait(); err != nil {
		se.Finish(err)
	}
}

// Unwatch stops the reading, and returns when no other goroutine uses the connection.
func (se *session) Unwatch() {
	if se.watched == nil {
		return
	}
	if !se.starts.Stop() {
		se.conn.interrupt()
		<-se.watched
	}
	se.watched = nil
}
