package mysqlock

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
)

// mine returns the locks that this backend holds in this namespace. If the parameter all is true, it returns the locks
// of all namespaces.
func (b *Backend) mine(namespace string, all bool) []driver.Status {
	return slices.DeleteFunc(b.locks.AllHeld(), func(s driver.Status) bool { return !all && s.Key.Namespace != namespace })
}

// ForceRelease implements [driver.Operator]. If key is held and live is false, ForceRelease returns a refusal. If live
// is true, it ends the connection that holds key (KILL). This also releases all other locks of that connection.
// ForceRelease waits until the server has released the lock, and then raises the token that Inspect returns. The user needs the privilege to kill the connections of other users (CONNECTION_ADMIN or SUPER), unless the
// holder has the same user. Pass token zero for a holder whose token is unknown.
func (b *Backend) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	err := b.look(ctx, func(c *conn) error {
		r, err := b.record(ctx, c, key)
		if err != nil {
			return err
		}
		switch {
		case !r.heldBy.Valid || r.status().Token != token:
			return driver.ErrNotHeld
		case !live:
			return r.refusal()
		}
		if err := b.kill(ctx, c, r.heldBy.Int64); err != nil {
			return err
		}
		if err := b.freed(ctx, c, key, r.heldBy); err != nil || token == 0 {
			return err
		}
		next, err := b.mintOne(ctx, c)
		if err == nil {
			_, err = c.ExecContext(ctx, b.sql["raise"], append([]any{int64(next)}, append(names(key), int64(token))...)...)
		}
		return err
	})
	return b.locks.Explain(ctx, "force release of", key, err)
}

// noSuchThread is the error of KILL if the connection has already ended.
const noSuchThread = 1094

func (b *Backend) kill(ctx context.Context, c *conn, connection int64) error {
	_, err := c.ExecContext(ctx, fmt.Sprintf(b.sql["kill"], connection))
	if sqlerror.MySQL(err) == noSuchThread {
		return nil
	}
	return err
}

// The method freed polls until the connection no longer holds the lock. It has to poll, because the server does not
// notify a client when another client's lock becomes free.
func (b *Backend) freed(ctx context.Context, c *conn, key driver.Key, connection sql.NullInt64) error {
	for {
		r, err := b.record(ctx, c, key)
		if err != nil || r.heldBy != connection {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
