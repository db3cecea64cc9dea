package mysql

import (
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// standingFor is for how long a grant relies on what the meta row said. It must be well below the shortest time for which a
// server that has taken over grants nothing: longest_ttl_us is never below a minute.
const standingFor = 10 * time.Second

// standing is what the meta row said last that lets a server grant: it is the one seen last, its quarantine is over, and
// longest_ttl_us is as long as this or longer.
//
// To read that row in each acquire costs 20 µs on MySQL and 60 on MariaDB. It need not be read: an acquire names the
// server, and is nothing on another one. The row of this one is changed by a server that takes over, and not by the first
// grant of that one before a minute has passed. By then whoever still relies on an older look has looked again.
type standing struct {
	epoch  string
	floor  int64
	closed int64     // microseconds for which a lock may be closed
	asked  time.Time // before the question was sent
}

// covers reports whether a grant of r may rely on s. The wall clock counts too: the other one stands still while the
// machine is suspended.
func (s *standing) covers(r driver.Request, now time.Time) bool {
	if s == nil || s.closed < sqlbase.ClosedFor(r) {
		return false
	}
	wall := now.Round(0).Sub(s.asked.Round(0))
	return now.Sub(s.asked) < standingFor && wall >= 0 && wall < standingFor
}
