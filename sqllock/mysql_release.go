package sqllock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
)

// Release takes one round trip, and one more if there was nothing to release. It waits for whoever has locked the row, which
// is a statement of a moment, or a transaction that somebody else has open, and gives up after a second. On MySQL, where no
// statement has a limit of its own, the connection is given up with it, and the outcome is unknown.
func (m *mysql) Release(ctx context.Context, g driver.Grant) error {
	s, err := m.server(ctx)
	if err == nil {
		namespace, name, nonce, token := hexed(g.Key.Namespace), hexed(g.Key.Name), g.Nonce.String(), int64(g.Token)
		minHold := g.MinHold.Microseconds()
		waits, cancel := ctx, func() {}
		if !s.mariadb {
			waits, cancel = context.WithTimeout(ctx, patience)
		}
		defer cancel()
		err = s.end(waits, "release", []any{minHold, minHold, namespace, name, nonce, token}, func() (answer, error) {
			var a answer
			found, err := s.one(waits, "released", []any{token, token, nonce, token, namespace, name}, &a.verdict)
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
		namespace, name := hexed(key.Namespace), hexed(key.Name)
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
