package mysql

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// Release takes one round trip, and one more if there was nothing to release. While another transaction has the row locked, it retries for a
// second at most on MySQL. MariaDB waits on the server instead.
func (m *Backend) Release(ctx context.Context, g driver.Grant) error {
	s, err := m.server(ctx)
	if err == nil {
		s = s.forReleases()
		namespace, name, nonce, token := sqlbind.MySQLBytes(g.Key.Namespace), sqlbind.MySQLBytes(g.Key.Name), g.Nonce.String(), int64(g.Token)
		minHold := g.MinHold.Microseconds()
		args := []any{minHold, minHold, namespace, name, nonce, token}
		if !s.mariadb {
			args = append(args, namespace, name)
		}
		err = s.end(ctx, "release", args, func() (sqlbase.Answer, error) {
			var a sqlbase.Answer
			found, err := s.one(ctx, "released", []any{token, token, nonce, token, namespace, name}, &a.Verdict)
			if !found {
				a.Verdict = sqlbase.NotHeld
			}
			return a, err
		})
	}
	return m.classify(ctx, "release", g.Key, err)
}

// ForceRelease ends what holds key with this token, and fences it.
func (m *Backend) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	s, err := m.server(ctx)
	if err == nil {
		namespace, name := sqlbind.MySQLBytes(key.Namespace), sqlbind.MySQLBytes(key.Name)
		args := []any{namespace, name, int64(token), sqlbase.Flag(live)}
		if !s.mariadb {
			args = append(args, namespace, name)
		}
		err = s.end(ctx, "force_release", args, func() (sqlbase.Answer, error) {
			var a sqlbase.Answer
			found, err := s.one(ctx, "force_released", []any{int64(token), sqlbase.Flag(live), namespace, name}, a.Dest()...)
			if !found {
				a.Verdict = sqlbase.NotHeld
			}
			return a, err
		})
	}
	return m.classify(ctx, "force release", key, err)
}

// end runs a statement that ends a grant. Each time that it changes nothing, look tells why; a row
// that another transaction has locked is asked for again.
func (s *server) end(ctx context.Context, verb string, args []any, look func() (sqlbase.Answer, error)) error {
	again := func(err error) bool { return errors.Is(err, errRowLocked) || transient(err) }
	return sqlbase.RetryWithin(ctx, patience, again, func() error {
		done, err := s.q.Exec(ctx, s.sql[verb], args...)
		if err != nil {
			return err
		}
		if done.Affected > 0 { // the nonce or the token has changed, so a row that matched is counted
			return nil
		}
		a, err := look()
		switch {
		case err != nil:
			return err
		case a.Verdict == sqlbase.Released:
			return nil
		case a.Verdict == sqlbase.Again:
			return errRowLocked
		case a.Verdict == sqlbase.Leased:
			return a.Held()
		default:
			return driver.ErrNotHeld
		}
	})
}
