package mysqlock

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// serverWait is how long the server lets a session wait at a time, in seconds. A longer wait would
// outlast a client that is gone; MySQL rounds to seconds, and MariaDB takes no −1 for ever.
const serverWait = 1

// Await waits until h is granted, which has no token yet. A connection that is in doubt holds nothing, or soon: it is closed.
func (se *session) Await(ctx context.Context, h *holding) (driver.Token, error) {
	held := error(&driver.Held{Reason: driver.Leased})
	for {
		if refusal := se.refusal(ctx, h); se.Broken == nil {
			held = refusal
		} else if ctx.Err() == nil {
			return 0, refusal
		}
		if ctx.Err() != nil {
			return 0, held
		}
		var answer sql.NullInt64
		err := se.wait(ctx, h, &answer)
		switch {
		case err != nil:
			se.Broken = err
			if ctx.Err() != nil {
				err = held
			}
			return 0, err
		case answer.Int64 == 1:
			return 0, nil
		}
	}
}

// wait is one of the server's waits. A server that is silent for a TTL behind it is given up.
func (se *session) wait(ctx context.Context, h *holding, answer *sql.NullInt64) error {
	ctx, cancel := context.WithTimeout(ctx, serverWait*time.Second+max(h.TTL, time.Second))
	defer cancel()
	return se.query(ctx, "lock", []any{se.name(h), serverWait}, answer)
}
