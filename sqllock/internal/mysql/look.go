package mysql

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// looked is the row that look.sql returns.
type looked struct {
	sqlbase.Answer
	metaRow
	mustReserve bool   // whether a writer that waits must run reserve_for_writer.sql
	readers     []byte // a JSON object with the expiry of each share, in microseconds since 1970, under its nonce; empty without readers
	now         int64  // in microseconds since 1970
	expired     int    // the number of expired shares that the row still contains
	mustQueue   bool   // whether this process must run wait.sql, which adds it to the queue or confirms that it still waits
	queued      bool   // whether this process is in the queue
}

// metaRow contains the columns of the meta row that acquire.sql needs.
type metaRow struct {
	epoch string // identifies the server that answered
	floor int64
}

// dest returns the destinations for the columns of look.sql.
func (a *looked) dest() []any {
	return append(a.Dest(), &a.Ahead, &a.mustQueue, &a.queued, &a.epoch, &a.floor, &a.mustReserve, &a.readers, &a.now)
}

// countShares counts the shares. The statement does not count them, because a statement with JSON_TABLE costs more even
// if there are no readers.
func (a *looked) countShares() error {
	if len(a.readers) == 0 {
		return nil
	}
	var expiries map[string]int64
	if err := json.Unmarshal(a.readers, &expiries); err != nil {
		return fmt.Errorf("the column readers of the lock's row: %w", err)
	}
	for _, expiry := range expiries {
		if expiry > a.now {
			a.Readers++
		} else {
			a.expired++
		}
	}
	return nil
}

// metaSeenFor is how long grants may rely on an earlier read of the meta row. It must be much shorter than the
// shortest quarantine after a failover, which is one minute, because longest_ttl_us is never smaller.
const metaSeenFor = 10 * time.Second

// metaSeen stores an earlier read of a meta row that permitted grants. The column epoch contained the identity of the
// server, the quarantine was over, and longest_ttl_us was not less than the field closedFor. Grants rely on that read
// because reading the meta row in each acquire would cost 20 µs on MySQL and 60 µs on MariaDB. This is safe.
// acquire.sql compares the server with the identity that look.sql read, and grants nothing on another server. After a
// failover, the new server changes the meta row, and grants nothing for at least a minute. After metaSeenFor, every
// process reads the meta row again, which is well within that minute.
type metaSeen struct {
	metaRow
	closedFor int64     // in microseconds
	asked     time.Time // the time before look.sql was sent
}

// covers reports whether a grant of r may rely on m. It checks the age of m with the monotonic clock and with the
// wall clock, because the monotonic clock stops while the machine is suspended.
func (m *metaSeen) covers(r driver.Request, now time.Time) bool {
	if m == nil || m.closedFor < sqlbase.ClosedFor(r) {
		return false
	}
	wall := now.Round(0).Sub(m.asked.Round(0))
	return now.Sub(m.asked) < metaSeenFor && wall >= 0 && wall < metaSeenFor
}
