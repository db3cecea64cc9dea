package mysql

import (
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// looked is a row that look.sql returns.
type looked struct {
	sqlbase.Answer
	metaRow
	mustQueue bool // the process must write its entry into the queue: it has none, or is first and did not confirm it for a second
}

// metaRow contains what acquire.sql needs from the meta row.
type metaRow struct {
	epoch string // identifies the server that answered
	floor int64
}

// dest returns the destinations for the columns of look.sql.
func (a *looked) dest() []any {
	return append(a.Dest(), &a.Ahead, &a.mustQueue, &a.epoch, &a.floor)
}

// metaSeenFor is how long a grant relies on an earlier look. It must be well below the shortest quarantine of a
// server that has taken over: longest_ttl_us is never below a minute.
const metaSeenFor = 10 * time.Second

// metaSeen stores an earlier look at a meta row that permitted grants. The server was the one seen last, its
// quarantine was over, and longest_ttl_us was closedFor or more. Reading the meta row in each acquire would cost 20
// µs on MySQL and 60 µs on MariaDB. Relying on an earlier look is safe: acquire.sql names the server, and grants
// nothing on another server. A server that takes over changes this server's meta row, and grants nothing for a minute
// after the change. Within that minute every process that relied on an earlier look has looked again.
type metaSeen struct {
	metaRow
	closedFor int64     // in microseconds
	asked     time.Time // the time before look.sql was sent
}

// covers reports whether a grant of r may rely on m. It also compares wall clocks, because the monotonic clock stops
// while the machine is suspended.
func (m *metaSeen) covers(r driver.Request, now time.Time) bool {
	if m == nil || m.closedFor < sqlbase.ClosedFor(r) {
		return false
	}
	wall := now.Round(0).Sub(m.asked.Round(0))
	return now.Sub(m.asked) < metaSeenFor && wall >= 0 && wall < metaSeenFor
}
