package sqllock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
)

// vNoAutocommit: what is granted would not be committed.
const vNoAutocommit verdict = "no autocommit"

var errNoAutocommit = errors.New("autocommit is off in the session: locks need a pool with autocommit on")

// Acquire takes one round trip on MariaDB. On MySQL it takes one when it is granted and two when it
// is refused, because no statement there both changes a row and reads one.
func (m *mysql) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	s, err := m.server(ctx)
	if err != nil {
		return driver.Grant{}, m.classify(ctx, "acquire", r.Key, err)
	}
	lookFirst := r.Waiting
	a, err := settle(ctx, func() (answer, error) {
		if lookFirst {
			lookFirst = false
			if a, err := s.look(ctx, r); err != nil || a.verdict != vContended && a.verdict != vMissing {
				return a, err
			}
		}
		return s.ask(ctx, r)
	}, s.mends(ctx, closedFor(r)))
	if err != nil {
		return driver.Grant{}, m.classify(ctx, "acquire", r.Key, err)
	}
	if a.verdict != vGranted {
		return driver.Grant{}, a.held()
	}
	return driver.Grant{
		Key: r.Key, Nonce: r.Nonce, Token: driver.Token(a.token),
		TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay,
	}, nil
}

// closedFor is how long a grant closes a lock for others if nothing is heard of its holder, in
// microseconds.
func closedFor(r driver.Request) int64 {
	return max(r.TTL+r.HandoverDelay, r.MinHold).Microseconds()
}

// mends are the statements that make grants possible again.
func (s *mysqlServer) mends(ctx context.Context, closed int64) map[verdict]func() error {
	return map[verdict]func() error{
		vEpoch: func() error {
			_, err := s.exec(ctx, "adopt_epoch")
			return err
		},
		vTTL: func() error {
			_, err := s.exec(ctx, "raise_longest_ttl", closed)
			return err
		},
		vNoAutocommit: func() error { return driver.Permanent(errNoAutocommit) },
	}
}

// look reads why a lock is not to be had.
func (s *mysqlServer) look(ctx context.Context, r driver.Request) (answer, error) {
	var a answer
	found, err := s.one(ctx, "look",
		[]any{closedFor(r), r.Nonce.String(), hexed(r.Key.Namespace), hexed(r.Key.Name)}, a.dest()...)
	if err == nil && !found {
		err = s.metaMissing()
	}
	return a, err
}

// ask makes one attempt, and looks if nothing was granted.
func (s *mysqlServer) ask(ctx context.Context, r driver.Request) (answer, error) {
	grant := s.grantMySQL
	if s.mariadb {
		grant = s.grantMariaDB
	}
	a, err := grant(ctx, r)
	if err != nil || a.verdict != "" {
		return a, err
	}
	a, err = s.look(ctx, r)
	if err != nil || a.verdict != vMissing {
		return a, err
	}
	a.verdict = vContended
	if s.mariadb {
		return a, nil
	}
	token, err := s.insert(ctx, r)
	if token != 0 {
		a = answer{verdict: vGranted, token: token}
	}
	return a, err
}

// grantMySQL updates the row. The answer has no verdict when nothing was granted.
func (s *mysqlServer) grantMySQL(ctx context.Context, r driver.Request) (answer, error) {
	done, err := s.exec(ctx, "acquire", s.acquireArgs(r)...)
	if err != nil || done.lastID == 0 {
		return answer{}, err
	}
	return answer{verdict: vGranted, token: done.lastID}, nil
}

// acquireArgs are the parameters of acquire.sql.
func (s *mysqlServer) acquireArgs(r driver.Request) []any {
	namespace, name, nonce := hexed(r.Key.Namespace), hexed(r.Key.Name), r.Nonce.String()
	holder, note := hexedText(r.Holder), hexedText(r.Note)
	ttl, closing, minHold := r.TTL.Microseconds(), (r.TTL + r.HandoverDelay).Microseconds(), r.MinHold.Microseconds()
	if s.mariadb {
		return []any{
			namespace, name, nonce, holder, note, ttl, closing, minHold, closedFor(r), closing, minHold, nonce,
		}
	}
	return []any{
		nonce, nonce, nonce, holder, note, ttl, closing, minHold,
		namespace, name, nonce,
		namespace, name, nonce, closedFor(r),
	}
}

// insert makes the row of a lock that has none; the token is 0 if somebody else was first.
func (s *mysqlServer) insert(ctx context.Context, r driver.Request) (int64, error) {
	namespace, name := hexed(r.Key.Namespace), hexed(r.Key.Name)
	args := []any{
		namespace, name, r.Nonce.String(), hexedText(r.Holder), hexedText(r.Note),
		r.TTL.Microseconds(), closedFor(r), closedFor(r), namespace, name,
	}
	var done result
	err := s.run(ctx, func() (err error) {
		done, err = s.q.exec(ctx, s.sql["insert"], args...)
		if n := sqlerror.MySQL(err); n == mysqlDuplicate || n == mysqlNoWait {
			done, err = result{}, nil
		}
		return err
	})
	return done.lastID, err
}

// grantMariaDB updates or inserts the row. The answer has no verdict when the row is locked, or
// when nothing can be granted at all.
func (s *mysqlServer) grantMariaDB(ctx context.Context, r driver.Request) (answer, error) {
	var a answer
	found := false
	err := s.run(ctx, func() (err error) {
		found, err = queryOne(ctx, s.q, s.sql["acquire"], s.acquireArgs(r), a.dest()...)
		if sqlerror.MySQL(err) == mysqlLockWait {
			found, err = false, nil
		}
		return err
	})
	if err != nil || !found {
		return answer{}, err
	}
	return a, nil
}
