package mysql

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// List returns the locks of a namespace, or of all.
func (m *Backend) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	list, err := m.statuses(ctx, "list", sqlbind.MySQLBytes(namespace), sqlbase.Flag(all))
	return list, m.classify(ctx, "list", driver.Key{Namespace: namespace}, err)
}

// Inspect returns the state of one lock.
func (m *Backend) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	list, err := m.statuses(ctx, "inspect", sqlbind.MySQLBytes(key.Namespace), sqlbind.MySQLBytes(key.Name))
	if err != nil || len(list) == 0 {
		return driver.Status{Key: key}, m.classify(ctx, "inspect", key, err)
	}
	return list[0], nil
}

func (m *Backend) statuses(ctx context.Context, verb string, args ...any) ([]driver.Status, error) {
	s, err := m.server(ctx)
	if err != nil {
		return nil, err
	}
	var list []driver.Status
	err = s.run(ctx, func() (err error) {
		list, err = sqlbase.Statuses(ctx, s.q, s.sql[verb], args...)
		return err
	})
	return list, err
}

// forgetBatch is how many rows one statement of Prune forgets.
const forgetBatch = 1000

// Prune forgets locks that have been free for so long, a batch at a time. After an error it reports
// how many it had forgotten until then.
func (m *Backend) Prune(ctx context.Context, unused time.Duration) (int, error) {
	s, err := m.server(ctx)
	if err != nil {
		return 0, m.classify(ctx, "prune", driver.Key{}, err)
	}
	total := 0
	for last := (driver.Key{}); ; {
		batch, err := s.unused(ctx, unused, last)
		if err != nil || len(batch) == 0 {
			return total, m.classify(ctx, "prune", driver.Key{}, err)
		}
		forgotten, err := s.forget(ctx, unused, batch)
		total += forgotten
		if err != nil || len(batch) < forgetBatch {
			return total, m.classify(ctx, "prune", driver.Key{}, err)
		}
		last = batch[len(batch)-1].Key
	}
}

// unused reads the next locks behind last that may be forgotten.
func (s *server) unused(ctx context.Context, unused time.Duration, last driver.Key) ([]driver.Grant, error) {
	namespace := sqlbind.MySQLBytes(last.Namespace)
	var batch []driver.Grant
	err := s.run(ctx, func() error {
		batch = nil
		args := []any{unused.Microseconds(), namespace, namespace, sqlbind.MySQLBytes(last.Name), int64(forgetBatch)}
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

// forget raises the floor first, in a transaction of its own. Whoever inserts a row reads the floor
// under a lock that lasts until his commit: either he has it raised, or the rows are still there
// when he inserts.
func (s *server) forget(ctx context.Context, unused time.Duration, batch []driver.Grant) (int, error) {
	var largest driver.Token
	for _, g := range batch {
		largest = max(largest, g.Token)
	}
	document, err := sqlbase.EncodeGrants(encodedKeys(batch))
	if err != nil {
		return 0, driver.Permanent(err)
	}
	if _, err := s.Exec(ctx, "raise_floor", int64(largest)); err != nil {
		return 0, err
	}
	done, err := s.Exec(ctx, "prune", document, unused.Microseconds())
	return int(done.Affected), err
}

// Pause takes one round trip, and one more if there was nothing to pause.
func (m *Backend) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	s, err := m.server(ctx)
	if err == nil {
		namespace, name, never := sqlbind.MySQLBytes(g.Key.Namespace), sqlbind.MySQLBytes(g.Key.Name), driver.Endless.Microseconds()
		args := []any{as.String(), never, never, namespace, name, int64(g.Token), g.Nonce.String(), as.String()}
		if !s.mariadb {
			args = append(args, namespace, name)
		}
		err = s.end(ctx, "pause", args, func() (sqlbase.Answer, error) {
			a := sqlbase.Answer{Verdict: sqlbase.NotHeld}
			_, err := s.one(ctx, "paused", []any{g.Nonce.String(), as.String(), int64(g.Token), namespace, name}, &a.Verdict)
			return a, err
		})
	}
	return m.classify(ctx, "pause", g.Key, err)
}
