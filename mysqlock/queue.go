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

// AcquireQueued implements [driver.Queuer]: it waits until ctx ends, on a connection of its own, which
// holds nothing else and is closed if the wait is cut short. When there may be no more connections it
// is [Backend.Acquire].
func (b *Backend) AcquireQueued(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return b.acquire(ctx, r,
		func(h *holding) (driver.Grant, error) {
			if se := b.waiter(); se != nil {
				return b.queue(ctx, se, h)
			}
			return b.ask(ctx, h)
		},
		func(inTheWay *holding) error {
			select {
			case <-inTheWay.gone:
				return nil
			case <-ctx.Done():
				return b.refusedBy(inTheWay)
			}
		})
}

// waiter is a session for one who waits, nil if there may be no more. It is not among the others before
// it is granted something: nobody may use it meanwhile.
func (b *Backend) waiter() *session {
	b.mu.Lock()
	defer b.mu.Unlock()
	if most := b.opts.sessions; b.waits >= most/2 || len(b.sessions)+b.waits >= most {
		return nil
	}
	b.waits++
	return newSession(b)
}

// queue waits on se, and gives it back, or gives it to the others with what it was granted.
func (b *Backend) queue(ctx context.Context, se *session, h *holding) (driver.Grant, error) {
	g, err := se.await(ctx, h)
	b.mu.Lock()
	b.waits--
	if err == nil {
		b.sessions = append(b.sessions, se)
	}
	b.mu.Unlock()
	if err != nil {
		b.forget(h)
	}
	se.leave()
	if err != nil {
		return driver.Grant{}, err
	}
	return b.numbered(ctx, h, g)
}

// await waits until h is granted. A connection that is in doubt holds nothing, or soon: it is closed.
func (se *session) await(ctx context.Context, h *holding) (driver.Grant, error) {
	if err := se.connect(ctx); err != nil {
		return driver.Grant{}, err
	}
	if err := se.settle(h); err != nil {
		return driver.Grant{}, err
	}
	held := error(&driver.Held{Reason: driver.Leased})
	for {
		if refusal := se.refusal(ctx, h); se.broken == nil {
			held = refusal
		} else if ctx.Err() == nil {
			return driver.Grant{}, refusal
		}
		if ctx.Err() != nil {
			return driver.Grant{}, held
		}
		var answer sql.NullInt64
		err := se.wait1(ctx, h, &answer)
		switch {
		case err != nil:
			se.broken = err
			if ctx.Err() != nil {
				err = held
			}
			return driver.Grant{}, err
		case answer.Int64 == 1:
			return se.granted(h, 0), nil
		}
	}
}

// wait1 is one of the server's waits. A server that is silent for a TTL behind it is given up.
func (se *session) wait1(ctx context.Context, h *holding, answer *sql.NullInt64) error {
	ctx, cancel := context.WithTimeout(ctx, serverWait*time.Second+max(h.grant.TTL, time.Second))
	defer cancel()
	return se.query(ctx, "lock", []any{h.lock, serverWait}, answer)
}
