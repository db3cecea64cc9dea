package mysqlock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/internal/sessionlock"
	"github.com/rowlock/rowlock/internal/sqlbind"
)

// numbered returns the grant of h with its token. A session that already holds locks acquires a further lock without
// a token. Another transaction, such as a backup, may have locked the token's row, and waiting for
// that row would delay the heartbeats of the session's other locks. So numbered makes the token on another connection
// of the pool, after the lock was granted.
func (b *Backend) numbered(ctx context.Context, h *holding, g driver.Grant) (driver.Grant, error) {
	if b.opts.noToken {
		return g, nil
	}
	se := b.locks.LinkOf(h).(*session)
	lock := se.name(h)
	args := append(names(g.Key), se.conn.id, sqlbind.MySQLText(h.Holder), sqlbind.MySQLText(h.Note), lock, se.conn.id, lock)
	token, err := b.mint(ctx, se, args)
	switch {
	case err != nil && ctx.Err() == nil:
		if undone := b.release(ctx, g); undone != nil && !errors.Is(undone, driver.ErrNotHeld) {
			return driver.Grant{}, oneline.Join(err, undone)
		}
		return driver.Grant{}, driver.NotApplied(err)
	case err != nil:
		return driver.Grant{}, err // the lock stays held; a repeated request with the same nonce finds it
	case token == 0: // the session no longer holds the lock
		if _, err := b.locks.Proven(ctx, h); err != nil {
			return driver.Grant{}, err
		}
		return driver.Grant{}, sessionlock.ErrGone
	}
	return b.locks.Numbered(h, driver.Token(token))
}

// mint makes a token on another connection of the pool. If the pool has only one connection,
// mint uses the session's connection.
func (b *Backend) mint(ctx context.Context, se *session, args []any) (token int64, err error) {
	const tries = 5
	for range tries {
		if b.db.Stats().MaxOpenConnections == 1 {
			if err = se.Take(ctx); err != nil {
				return 0, err
			}
			var made int64 // the function below may run after mint has returned, so it must not set the result token
			err = se.Run(ctx, nil, func(ctx context.Context) (err error) {
				made, _, err = se.exec(ctx, "mint", args...)
				return err
			})
			if err == nil {
				token = made
			}
		} else {
			token, err = b.mintApart(ctx, args)
		}
		if !transient(err) {
			break
		}
	}
	return token, err
}

func (b *Backend) mintApart(ctx context.Context, args []any) (int64, error) {
	r, err := b.db.ExecContext(ctx, b.sql["mint"], args...)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}
