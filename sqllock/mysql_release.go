package sqllock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
)

// Release takes one round trip, and one more if there was nothing to release. While another transaction has the row locked, it retries for a
// second at most on MySQL. MariaDB waits on the server instead.
func (m *mysql) Release(ctx context.Context, g driver.Grant) error {
	s, err := m.server(ctx)
	if err == nil {
		s = s.reserved(false)
		namespace, name, nonce, token := sqlbind.MySQLBytes(g.Key.Namespace), sqlbind.MySQLBytes(g.Key.Name), g.Nonce.String(), int64(g.Token)
		minHold := g.MinHold.Microseconds()
		args := []any{minHold, minHold, namespace, name, nonce, token}
		if !s.mariadb {
			args = append(args, namespace, name)
		}
		err = s.end(ctx, "release", args, func() (answer, error) {
			var a answer
			found, err := s.one(ctx, "released", []any{token, token, nonce, token, namespace, name}, &a.verdict)
			if !found {
				a.verdict = vNotHeld
			}
			return a, err
		})
	}
	return m.classify(ctx, "release", g.Key, err)
}

// ForceRelease ends what holds key with this token, and fences it.
func (m *mysql) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	s, err := m.server(ctx)
	if err == nil {
		namespace, name := sqlbind.MySQLBytes(key.Namespace), sqlbind.MySQLBytes(key.Name)
		args := []any{namespace, name, int64(token), flag(live)}
		if !s.mariadb {
			args = append(args, namespace, name)
		}
		err = s.end(ctx, "force_release", args, func() (answer, error) {
			var a answer
			found, err := s.one(ctx, "force_released", []any{int64(token), flag(live), namespace, name}, a.dest()...)
			if !found {
				a.verdict = vNotHeld
			}
			return a, err
		})
	}
	return m.classify(ctx, "force release", key, err)
}

// end runs a statement that ends a grant. Each time that it changes nothing, look tells why; a row
// that another transaction has locked is asked for again.
func (s *mysqlServer) end(ctx context.Context, verb string, args []any, look func() (answer, error)) error {
	again := func(err error) bool { return errors.Is(err, errRowLocked) || mysqlTransient(err) }
	return retryWithin(ctx, patience, again, func() error {
		done, err := s.q.exec(ctx, s.sql[verb], args...)
		if err != nil {
			return err
		}
		if done.affected > 0 { // the nonce or the token has changed, so a row that matched is counted
			return nil
		}
		a, err := look()
		switch {
		case err != nil:
			return err
		case a.verdict == vReleased:
			return nil
		case a.verdict == vAgain:
			return errRowLocked
		case a.verdict == vLeased:
			return a.held()
		default:
			return driver.ErrNotHeld
		}
	})
}
