package mysql

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// List returns the locks of a namespace, or of all namespaces.
func (b *Backend) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	list, err := b.statuses(ctx, "list", sqlbind.MySQLBytes(namespace), sqlbase.Flag(all))
	return list, b.classify(ctx, "list", driver.Key{Namespace: namespace}, err)
}

// Inspect returns the state of one lock.
func (b *Backend) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	namespace, name := encoded(key)
	list, err := b.statuses(ctx, "inspect", namespace, name)
	if err != nil || len(list) == 0 {
		return driver.Status{Key: key}, b.classify(ctx, "inspect", key, err)
	}
	return list[0], nil
}

func (b *Backend) statuses(ctx context.Context, verb string, args ...any) ([]driver.Status, error) {
	s, err := b.server(ctx)
	if err != nil {
		return nil, err
	}
	var list []driver.Status
	err = s.retry(ctx, func() (err error) {
		list, err = sqlbase.Statuses(ctx, s.q, s.sql[verb], args...)
		return err
	})
	return list, err
}

// ForceRelease ends the grant of key that has this token, and raises the token so that the holder is fenced. If the
// lease has not expired, ForceRelease ends the grant only if live is true.
func (b *Backend) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	s, err := b.server(ctx)
	if err != nil {
		return b.classify(ctx, "force release", key, err)
	}
	namespace, name := encoded(key)
	args := s.skipLocked(key, []any{namespace, name, int64(token), sqlbase.Flag(live)})
	err = s.end(ctx, "force_release", key, args, func(a *sqlbase.Answer) (bool, error) {
		return s.queryRow(ctx, "force_refused", []any{int64(token), sqlbase.Flag(live), namespace, name}, append(a.Dest(), &a.Readers)...)
	})
	return b.classify(ctx, "force release", key, err)
}

// Pause replaces the grant g with a pause. It takes one round trip, and one more if there was nothing to pause.
func (b *Backend) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	s, err := b.server(ctx)
	if err != nil {
		return b.classify(ctx, "pause", g.Key, err)
	}
	namespace, name := encoded(g.Key)
	nonce, pause, token, never := g.Nonce.String(), as.String(), int64(g.Token), driver.Endless.Microseconds()
	args := s.skipLocked(g.Key, []any{pause, never, never, namespace, name, token, nonce, pause})
	err = s.end(ctx, "pause", g.Key, args, func(a *sqlbase.Answer) (bool, error) {
		return s.queryRow(ctx, "pause_refused", []any{nonce, pause, token, namespace, name}, &a.Verdict)
	})
	return b.classify(ctx, "pause", g.Key, err)
}

// pruneBatch is the largest number of rows that one statement of Prune deletes.
const pruneBatch = 1000

// Prune deletes the rows of locks that have been free for at least the duration unused, one batch at a time. It
// returns the number of deleted rows, also with an error.
func (b *Backend) Prune(ctx context.Context, unused time.Duration) (deleted int, err error) {
	s, err := b.server(ctx)
	if err != nil {
		return 0, b.classify(ctx, "prune", driver.Key{}, err)
	}
	for last := (driver.Key{}); ; {
		batch, err := unusedAfter(ctx, s, unused, last)
		if err != nil || len(batch) == 0 {
			return deleted, b.classify(ctx, "prune", driver.Key{}, err)
		}
		n, err := prune(ctx, s, unused, batch)
		deleted += n
		if err != nil || len(batch) < pruneBatch {
			return deleted, b.classify(ctx, "prune", driver.Key{}, err)
		}
		last = batch[len(batch)-1].Key
	}
}

// unusedAfter returns at most pruneBatch locks that may be deleted. Their keys are larger than the key in the parameter
// last.
func unusedAfter(ctx context.Context, s *server, unused time.Duration, last driver.Key) ([]driver.Grant, error) {
	namespace, name := encoded(last)
	var batch []driver.Grant
	err := s.retry(ctx, func() error {
		batch = nil
		args := []any{unused.Microseconds(), namespace, namespace, name, int64(pruneBatch)}
		return s.q.Query(ctx, s.sql["unused"], args, func(r sqlbase.Rows) error {
			for r.Next() {
				var g driver.Grant
				if err := r.Scan(&g.Key.Namespace, &g.Key.Name, &g.Token); err != nil {
					return err
				}
				batch = append(batch, g)
			}
			return nil
		})
	})
	return batch, err
}

// prune deletes a batch. Before that, it raises the floor, a stored number that every later token must exceed. It does
// so in a separate transaction. A session that inserts a row locks the floor, reads it, and keeps it locked until the
// commit. So a session that reads the old floor commits before the floor is raised, and thus before prune deletes the
// rows.
func prune(ctx context.Context, s *server, unused time.Duration, batch []driver.Grant) (int, error) {
	var largest driver.Token
	for _, g := range batch {
		largest = max(largest, g.Token)
	}
	document := sqlbase.EncodeGrants(encodedKeys(batch))
	if _, err := s.exec(ctx, "raise_floor", int64(largest)); err != nil {
		return 0, err
	}
	done, err := s.exec(ctx, "prune", document, unused.Microseconds())
	return int(done.Affected), err
}
