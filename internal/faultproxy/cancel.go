package faultproxy

import (
	"encoding/binary"
	"time"
)

// cancelCode begins PostgreSQL's request to cancel. A client sends nothing else on the connection of such a request:
const cancelCode = 80877102

// cancelLimit is more than PgBouncer's cancel_wait_timeout, 10 s.
const cancelLimit = 15 * time.Second

func isCancel(b []byte) bool {
	return len(b) == 16 && binary.BigEndian.Uint32(b) == 16 && binary.BigEndian.Uint32(b[4:]) == cancelCode
}

// cancels is called before a request to cancel is delivered. It returns false if the link has ended. From then on Reset
// does not reset the connection to the server, and the server does not learn when the client leaves. The server closes
// the connection itself. The reason: PgBouncer exits with "bad client state: 0" if the client leaves before PgBouncer
// has forwarded the request: https://github.com/pgbouncer/pgbouncer/issues/801
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
