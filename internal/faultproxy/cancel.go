package faultproxy

import (
	"encoding/binary"
	"time"
)

// cancelCode is the number at the start of PostgreSQL's cancel request. A client opens a separate connection for a
// cancel request, and sends nothing else on it.
const cancelCode = 80877102

// cancelLimit limits how long the proxy waits until the server closes the connection of a cancel request. It is longer
// than PgBouncer's cancel_wait_timeout, which is 10 s.
const cancelLimit = 15 * time.Second

func isCancel(b []byte) bool {
	return len(b) == 16 && binary.BigEndian.Uint32(b) == 16 && binary.BigEndian.Uint32(b[4:]) == cancelCode
}

// cancels is called before the proxy forwards a cancel request to the server. It returns false if the link has ended.
// After that call, the proxy keeps the connection to the server open, even after Reset or when the client
// disconnects, until the server closes it. The reason is that PgBouncer exits with "bad client state:
// 0" if the client disconnects before PgBouncer has forwarded the request:
// https://github.com/pgbouncer/pgbouncer/issues/801
func (l *link) cancels() bool {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if l.ended {
		return false
	}
	l.cancel = true
	_ = l.server.SetReadDeadline(time.Now().Add(cancelLimit))
	return true
}
