package sqlite

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"

	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/internal/sqlitefile"
)

// List returns the locks of a namespace, or of all.
func (s *Backend) List(ctx context.Context, namespace string, all bool) (list []driver.Status, err error) {
	err = s.call(ctx, func(q sqlbase.Querier) (err error) {
		list, err = sqlbase.Statuses(ctx, q, s.sql["list"], namespace, sqlbase.Flag(all))
		return err
	})
	return list, s.classify(ctx, "list", driver.Key{Namespace: namespace}, err)
}

// Inspect returns the state of one lock.
func (s *Backend) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	var list []driver.Status
	err := s.call(ctx, func(q sqlbase.Querier) (err error) {
		list, err = sqlbase.Statuses(ctx, q, s.sql["inspect"], key.Namespace, key.Name)
		return err
	})
	if err != nil || len(list) == 0 {
		return driver.Status{Key: key}, s.classify(ctx, "inspect", key, err)
	}
	return list[0], nil
}

// ForceRelease ends what holds key with this token, and fences it.
func (s *Backend) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	args := []any{key.Namespace, key.Name, int64(token), sqlbase.Flag(live)}
	err := sqlbase.Ended(ctx, func(a *sqlbase.Answer) error {
		next, found, err := s.end(ctx, "force_release", args, false)
		if err != nil {
			return err
		}
		if found {
			a.Verdict = sqlbase.Released
			wakeLocal(next)
			return nil
		}
		return s.call(ctx, func(q sqlbase.Querier) error {
			_, err = sqlbase.QueryOne(ctx, q, s.sql["force_refused"], args, a.Dest()...)
			return err
		})
	})
	return s.classify(ctx, "force release", key, err)
}

// Prune forgets locks that have been free for so long, in one transaction.
func (s *Backend) Prune(ctx context.Context, unused time.Duration) (int, error) {
	forgotten := int64(0)
	err := sqlbase.Retry(ctx, sqlitefile.Busy, func() error {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return driver.NotApplied(err)
		}
		defer conn.Close() //nolint:errcheck // back to the pool, which reports nothing of use
		forgotten, err = s.prune(ctx, conn, unused)
		return err
	})
	if err != nil {
		return 0, s.classify(ctx, "prune", driver.Key{}, err)
	}
	return int(forgotten), nil
}

func (s *Backend) prune(ctx context.Context, conn *sql.Conn, unused time.Duration) (forgotten int64, err error) {
	q := sqlbase.On(conn)
	restore, err := withBusySlice(ctx, nil, q)
	if err != nil {
		return 0, err
	}
	defer func() { err = oneline.Join(err, restore()) }()
	err = immediately(ctx, conn, func(q sqlbase.Querier) error {
		var before int64
		if _, err := sqlbase.QueryOne(ctx, q, s.sql["raise_floor"], []any{unused.Microseconds()}, &before); err != nil {
			return err
		}
		r, err := q.Exec(ctx, s.sql["forget"], before)
		forgotten = r.Affected
		return err
	})
	return forgotten, err
}

// Pause is durable, as a grant is.
func (s *Backend) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	_, found, err := s.end(ctx, "pause", []any{
		g.Key.Namespace, g.Key.Name, g.Nonce.String(), int64(g.Token), as.String(), driver.Endless.Microseconds(),
	}, false)
	if err == nil && !found {
		return driver.ErrNotHeld
	}
	return s.classify(ctx, "pause", g.Key, err)
}
