package sqllock

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/internal/sqlitefile"
)

// List returns the locks of a namespace, or of all.
func (s *sqlite) List(ctx context.Context, namespace string, all bool) (list []driver.Status, err error) {
	err = s.call(ctx, func(q querier) (err error) {
		list, err = statuses(ctx, q, s.sql["list"], namespace, flag(all))
		return err
	})
	return list, s.classify(ctx, "list", driver.Key{Namespace: namespace}, err)
}

// Inspect returns the state of one lock.
func (s *sqlite) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	var list []driver.Status
	err := s.call(ctx, func(q querier) (err error) {
		list, err = statuses(ctx, q, s.sql["inspect"], key.Namespace, key.Name)
		return err
	})
	if err != nil || len(list) == 0 {
		return driver.Status{Key: key}, s.classify(ctx, "inspect", key, err)
	}
	return list[0], nil
}

// ForceRelease ends what holds key with this token, and fences it.
func (s *sqlite) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	args := []any{key.Namespace, key.Name, int64(token), flag(live)}
	err := ended(ctx, func(a *answer) error {
		next, found, err := s.end(ctx, "force_release", args, false)
		if err != nil {
			return err
		}
		if found {
			a.verdict = vReleased
			wakeLocal(next)
			return nil
		}
		return s.call(ctx, func(q querier) error {
			_, err = queryOne(ctx, q, s.sql["force_refused"], args, a.dest()...)
			return err
		})
	})
	return s.classify(ctx, "force release", key, err)
}

// Prune forgets locks that have been free for so long, in one transaction.
func (s *sqlite) Prune(ctx context.Context, unused time.Duration) (int, error) {
	forgotten := int64(0)
	err := retry(ctx, sqlitefile.Busy, func() error {
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

func (s *sqlite) prune(ctx context.Context, conn *sql.Conn, unused time.Duration) (forgotten int64, err error) {
	q := sqlQuerier{conn}
	restore, err := withBusySlice(ctx, nil, q)
	if err != nil {
		return 0, err
	}
	defer func() { err = oneline.Join(err, restore()) }()
	err = immediately(ctx, conn, func(q querier) error {
		var before int64
		if _, err := queryOne(ctx, q, s.sql["raise_floor"], []any{unused.Microseconds()}, &before); err != nil {
			return err
		}
		r, err := q.exec(ctx, s.sql["forget"], before)
		forgotten = r.affected
		return err
	})
	return forgotten, err
}

// discard closes a connection whose session may not be as the pool lent it, instead of giving it back.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn })
}
