package faultproxy

import (
	"encoding/binary"
	"time"
)

// cancelCode begins a request to cancel, which is the only thing that a client of Postgres ever sends on its connection:
// https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-CANCELREQUEST
const cancelCode = 80877102

// cancelLimit is more than PgBouncer's cancel_wait_timeout, 10 s.
const cancelLimit = 15 * time.Second

func isCancel(b []byte) bool {
	return len(b) == 16 && binary.BigEndian.Uint32(b) == 16 && binary.BigEndian.Uint32(b[4:]) == cancelCode
}

// cancels is told before a request to cancel is delivered; false if the link has ended. From then on the connection to the
// server is not reset with the others and hears nothing of a client that leaves; the server closes it. PgBouncer ends as a
// whole, with "bad client state: 0", when whoever asked it to cancel leaves before the server behind has been told:
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
