package mysql

import (
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// looked is the row that look.sql answers.
type looked struct {
	sqlbase.Answer
	metaRow
	mustQueue bool // a waiter should write itself into the queue, because it is not there or is first and was not seen for a second
}

// metaRow is what acquire.sql must know of the meta row.
type metaRow struct {
	epoch string // the server that answered
	floor int64
}

// dest is where a row of look.sql is scanned to.
func (a *looked) dest() []any {
	return append(a.Dest(), &a.Ahead, &a.mustQueue, &a.epoch, &a.floor)
}

// metaSeenFor is how long a grant relies on an earlier look. It must be well below the shortest time for which a
// server that has taken over grants nothing: longest_ttl_us is never below a minute.
const metaSeenFor = 10 * time.Second

// metaSeen is what an earlier look has seen in a meta row that permits grants: the server is the one seen last, its quarantine is over,
// and longest_ttl_us is closedFor or more.
//
// Reading the meta row in each acquire would cost 20 µs on MySQL and 60 on MariaDB. It is safe not to: acquire.sql names the server, and
// grants nothing on another one. A server that takes over changes the row of this one, and grants nothing for a minute after that. By
// then every process that relied on an earlier look has looked again.
type metaSeen struct {
	metaRow
	closedFor int64     // in microseconds
	asked     time.Time // before the question was sent
}

// covers reports whether a grant of r may rely on m. It compares wall clocks as well, because the monotonic clock stops while the
// machine is suspended.
func (m *metaSeen) covers(r driver.Request, now time.Time) bool {
	if m == nil || m.closedFor < sqlbase.ClosedFor(r) {
		return false
	}
	wall := now.Round(0).Sub(m.asked.Round(0))
	return now.Sub(m.asked) < metaSeenFor && wall >= 0 && wall < metaSeenFor
}
