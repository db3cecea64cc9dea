package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// List returns the locks of a namespace, or of all namespaces.
func (b *Backend) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	list, err := b.statuses(ctx, "list", namespace, sqlbase.Flag(all))
	return list, b.classify(ctx, "list", driver.Key{Namespace: namespace}, err)
}

// Inspect returns the state of one lock.
func (b *Backend) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	list, err := b.statuses(ctx, "inspect", key.Namespace, key.Name)
	if err != nil || len(list) == 0 {
		return driver.Status{Key: key}, b.classify(ctx, "inspect", key, err)
	}
	return list[0], nil
}

func (b *Backend) statuses(ctx context.Context, verb string, args ...any) (list []driver.Status, err error) {
	err = b.file.call(ctx, func(q sqlbase.Querier) (err error) {
		list, err = sqlbase.Statuses(ctx, q, b.file.sql[verb], args...)
		return err
	})
	return list, err
}

// ForceRelease ends the grant of key that has this token, and raises the token so that the holder is fenced. If the
// lease has not expired, ForceRelease ends the grant only if live is true.
func (b *Backend) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	args := []any{key.Namespace, key.Name, int64(token), sqlbase.Flag(live)}
	err := b.end(ctx, flushed, "force_release", args, func(q sqlbase.Querier, a *sqlbase.Answer) error {
		_, err := sqlbase.QueryOne(ctx, q, b.file.sql["force_refused"], args, append(a.Dest(), &a.Readers)...)
		return err
	})
	return b.classify(ctx, "force release", key, err)
}

// Pause replaces the grant g with a pause. The pause is as durable as a grant.
func (b *Backend) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	_, paused, err := b.update(ctx, flushed, "pause", []any{
		g.Key.Namespace, g.Key.Name, g.Nonce.String(), int64(g.Token), as.String(), driver.Endless.Microseconds(),
	})
	if err == nil && !paused {
		return driver.ErrNotHeld
	}
	return b.classify(ctx, "pause", g.Key, err)
}

// Prune deletes the rows of locks that have been free for at least the duration unused. Before that, it raises the
// floor, a stored number that every later token must exceed, in the same transaction.
func (b *Backend) Prune(ctx context.Context, unused time.Duration) (int, error) {
	deleted := int64(0)
	err := b.file.within(ctx, sqlbase.LongRetry, func(conn *sql.Conn) error {
		return immediately(ctx, conn, func(q sqlbase.Querier) error {
			var before int64
			if _, err := sqlbase.QueryOne(ctx, q, b.file.sql["raise_floor"], []any{unused.Microseconds()}, &before); err != nil {
				return err
			}
			r, err := q.Exec(ctx, b.file.sql["prune"], before)
			deleted = r.Affected
			return err
		})
	})
	if err != nil {
		return 0, b.classify(ctx, "prune", driver.Key{}, err)
	}
	return int(deleted), nil
}
