package sqllock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/internal/sqlerror"
)

// vNoAutocommit: what is granted would not be committed.
const vNoAutocommit verdict = "no autocommit"

var errNoAutocommit = errors.New("autocommit is off in the session: locks need a pool with autocommit on")

// Acquire takes one round trip when it is granted and two when it is refused, because no statement of MySQL both
// changes a row and reads one. It looks first, which is one more when it is granted, for who waits and when the
// last look that is of use is too old.
func (m *mysql) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	s, err := m.server(ctx)
	if err != nil {
		return driver.Grant{}, m.classify(ctx, "acquire", r.Key, err)
	}
	known := s.standing.Load()
	if r.Waiting || !known.covers(r, time.Now()) {
		known = nil
	}
	a, err := settle(ctx, func() (answer, error) {
		a, err := s.ask(ctx, r, known)
		known = nil // another try looks first
		return a, err
	}, s.mends(ctx, closedFor(r)))
	if err != nil {
		return driver.Grant{}, m.classify(ctx, "acquire", r.Key, err)
	}
	if a.verdict != vGranted {
		if r.Waiting {
			s.standInLine(ctx, r.Key, a)
		}
		return driver.Grant{}, a.held()
	}
	s.waiters.listed(r.Key, false)
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
	waiter, sent := s.waiters.id.String(), time.Now()
	found, err := s.one(ctx, "look",
		[]any{closedFor(r), r.Nonce.String(), waiter, waiter, sqlbind.MySQLBytes(r.Key.Namespace), sqlbind.MySQLBytes(r.Key.Name)},
		append(a.dest(), &a.ahead, &a.unlisted, &a.epoch, &a.floor)...)
	if err == nil && !found {
		err = s.metaMissing()
	}
	switch {
	case err != nil:
	case a.verdict == vContended || a.verdict == vMissing:
		s.standing.Store(&standing{epoch: a.epoch, floor: a.floor, closed: closedFor(r), asked: sent})
	case a.verdict == vEpoch || a.verdict == vQuarantine:
		s.standing.Store(nil)
	}
	return a, err
}

// ask makes one attempt, and looks if nothing was granted; first, if nothing is known.
func (s *mysqlServer) ask(ctx context.Context, r driver.Request, known *standing) (answer, error) {
	a := answer{verdict: vContended}
	var err error
	if known == nil {
		a, err = s.look(ctx, r)
	} else {
		a.epoch, a.floor = known.epoch, known.floor
	}
	if err == nil && a.verdict == vContended {
		token, err := s.attempt(ctx, r, "acquire", s.acquireArgs(r, a))
		if err != nil || token != 0 {
			return answer{verdict: vGranted, token: token}, err
		}
		a, err = s.look(ctx, r)
		if err != nil {
			return a, err
		}
	}
	if err != nil || a.verdict != vMissing {
		return a, err
	}
	token, err := s.attempt(ctx, r, "insert", s.insertArgs(r))
	if err != nil || token != 0 {
		return answer{verdict: vGranted, token: token}, err
	}
	a.verdict = vContended
	return a, nil
}

// attempt runs a statement that grants r. The token is 0 if it did not, or somebody else was first. A trigger of the
// user's that runs any statement hides LAST_INSERT_ID; then the row, which has been changed, tells.
func (s *mysqlServer) attempt(ctx context.Context, r driver.Request, verb string, args []any) (token int64, err error) {
	var done result
	err = s.run(ctx, func() (err error) {
		done, err = s.once(ctx, verb, args...)
		switch n := sqlerror.MySQL(err); {
		case n == mysqlDuplicate, n == mysqlNoWait, n == mysqlLockWait && s.mariadb:
			done, err = result{}, nil
		}
		return err
	})
	if err != nil || done.lastID != 0 || done.affected == 0 {
		return done.lastID, err
	}
	_, err = s.one(ctx, "granted", []any{sqlbind.MySQLBytes(r.Key.Namespace), sqlbind.MySQLBytes(r.Key.Name), r.Nonce.String()}, &token)
	if err != nil {
		err = fmt.Errorf("read the token of what was granted: %s", err) //nolint:errorlint // whatever this had no effect, the grant had
	}
	return token, err
}

// acquireArgs are the parameters of acquire.sql.
func (s *mysqlServer) acquireArgs(r driver.Request, looked answer) []any {
	namespace, name, nonce, waiter := sqlbind.MySQLBytes(r.Key.Namespace), sqlbind.MySQLBytes(r.Key.Name), r.Nonce.String(), s.waiters.id.String()
	holder, note := sqlbind.MySQLText(r.Holder), sqlbind.MySQLText(r.Note)
	ttl, closing, minHold := r.TTL.Microseconds(), (r.TTL + r.HandoverDelay).Microseconds(), r.MinHold.Microseconds()
	if s.mariadb {
		return []any{
			closing, nonce, minHold, nonce, looked.floor, nonce, nonce, holder, note, ttl, waiter, waiter,
			namespace, name, nonce, waiter, looked.epoch,
		}
	}
	return []any{
		namespace, name, nonce, waiter, looked.epoch,
		nonce, looked.floor, nonce, holder, note, nonce, ttl, closing, nonce, minHold, waiter, waiter,
	}
}

// insertArgs are the parameters of insert.sql, which makes the row of a lock that has none.
func (s *mysqlServer) insertArgs(r driver.Request) []any {
	namespace, name := sqlbind.MySQLBytes(r.Key.Namespace), sqlbind.MySQLBytes(r.Key.Name)
	args := []any{
		namespace, name, r.Nonce.String(), sqlbind.MySQLText(r.Holder), sqlbind.MySQLText(r.Note),
		r.TTL.Microseconds(), closedFor(r), closedFor(r),
	}
	if s.mariadb {
		return args
	}
	return append(args, namespace, name)
}
