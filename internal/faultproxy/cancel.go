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

// letFinish delivers a request to cancel and parts with it: from before the server has it, its connection there is not reset
// with the others, and is closed by the server. PgBouncer ends as a whole, with "bad client state: 0", when whoever asked it to
// cancel leaves before the server behind has been told: https://github.com/pgbouncer/pgbouncer/issues/801
func (l *link) letFinish(request []byte) {
	l.proxy.mu.Lock()
	ours := l.release()
	l.proxy.mu.Unlock()
	if !ours {
		return
	}
	_ = l.server.SetReadDeadline(time.Now().Add(cancelLimit))
	_, _ = l.server.Write(request) // who asks to cancel is never told whether it was
	l.client.Close()
}
