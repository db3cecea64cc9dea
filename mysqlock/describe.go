package mysqlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
)

// A row of rowlock_lease_counter describes the last grant of a name, for people. The grant writes the row before it
// returns, unless the same holder has just released the name on the same connection. So in a loop of short holds only
// the first two grants write. A later grant is described when it is renewed.

const (
	// soonAgain is how soon after its release a connection must acquire a name again for the grant to write no row.
	soonAgain = 50 * time.Millisecond
	// describeLimit is how long a grant waits for its row at most. It also never waits for more than a quarter of its TTL.
	describeLimit = time.Second
	// mostDescribed is the largest number of names that a session remembers.
	mostDescribed = 1000
)

// description is what a session remembers about a name: its last grant, when it released the name, and the token of the
// grant that the row describes. The field written is zero if the row names no connection.
type description struct {
	token        driver.Token
	holder, note string
	released     time.Time
	written      driver.Token
}

// describe writes the row of h's name, unless the same holder has just released it. The row may still describe the
// earlier grant. Then describe writes a row that names no connection, so that nobody takes that grant for this one.
func (se *session) describe(ctx context.Context, h *holding, token driver.Token) {
	last := se.described[h.Key]
	now, connection := description{token: token, holder: h.Holder, note: h.Note, written: token}, se.conn.id
	again := time.Since(last.released) < soonAgain && last.holder == h.Holder && last.note == h.Note
	if again {
		now.written, connection = 0, 0
	}
	if len(se.described) >= mostDescribed {
		clear(se.described)
	}
	se.described[h.Key] = now
	if !again || last.written != 0 {
		se.backend.describe(ctx, h, token, connection)
	}
}

// describeAll starts to write the rows of those holdings that their grants have not written.
func (se *session) describeAll(list []*holding) {
	for _, h := range list {
		if d := se.described[h.Key]; d.written != d.token {
			d.written = d.token
			se.described[h.Key] = d
			go se.backend.describe(context.Background(), h, d.token, se.conn.id)
		}
	}
}

// describe writes a row on another connection of the pool, because a statement that waits for a row would delay the
// session's heartbeats. It ignores errors, because no lock depends on the row. A pool with one connection has no other
// connection, so nothing is written.
func (b *Backend) describe(ctx context.Context, h *holding, token driver.Token, connection int64) {
	if b.db.Stats().MaxOpenConnections == 1 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, min(describeLimit, h.TTL/4))
	defer cancel()
	args := append(names(h.Key), int64(token), connection, sqlbind.MySQLText(h.Holder), sqlbind.MySQLText(h.Note))
	_, _ = b.db.ExecContext(ctx, b.sql["describe"], args...)
}
