package mysql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// vNoAutocommit: what is granted would not be committed.
const vNoAutocommit sqlbase.Verdict = "no autocommit"

var errNoAutocommit = errors.New("autocommit is off in the session: locks need a pool with autocommit on")

// Acquire takes one round trip when it is granted and two when it is refused, because no statement of MySQL both
// changes a row and reads one. It looks first, which is one more when it is granted, for who waits and when the
// last look that is of use is too old.
func (m *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	s, err := m.server(ctx)
	if err != nil {
		return driver.Grant{}, m.classify(ctx, "acquire", r.Key, err)
	}
	known := s.standing.Load()
	if r.Waiting || !known.covers(r, time.Now()) {
		known = nil
	}
	a, err := sqlbase.Settle(ctx, func() (sqlbase.Answer, error) {
		a, err := s.ask(ctx, r, known)
		known = nil // another try looks first
		return a, err
	}, s.mends(ctx, sqlbase.ClosedFor(r)))
	if err != nil {
		return driver.Grant{}, m.classify(ctx, "acquire", r.Key, err)
	}
	if a.Verdict != sqlbase.Granted {
		if r.Waiting {
			s.standInLine(ctx, r.Key, a)
		}
		return driver.Grant{}, a.Held()
	}
	s.waiters.listed(r.Key, false)
	return driver.Grant{
		Key: r.Key, Nonce: r.Nonce, Token: driver.Token(a.Token),
		TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay,
	}, nil
}

// mends are the statements that make grants possible again.
func (s *server) mends(ctx context.Context, closed int64) map[sqlbase.Verdict]func() error {
	return map[sqlbase.Verdict]func() error{
		sqlbase.OtherEpoch: func() error {
			_, err := s.Exec(ctx, "adopt_epoch")
			return err
		},
		sqlbase.LongerTTL: func() error {
			_, err := s.Exec(ctx, "raise_longest_ttl", closed)
			return err
		},
		vNoAutocommit: func() error { return driver.Permanent(errNoAutocommit) },
	}
}

// look reads why a lock is not to be had.
func (s *server) look(ctx context.Context, r driver.Request) (sqlbase.Answer, error) {
	var a sqlbase.Answer
	waiter, sent := s.waiters.id.String(), time.Now()
	found, err := s.one(ctx, "look",
		[]any{sqlbase.ClosedFor(r), r.Nonce.String(), waiter, waiter, sqlbind.MySQLBytes(r.Key.Namespace), sqlbind.MySQLBytes(r.Key.Name)},
		append(a.Dest(), &a.Ahead, &a.Unlisted, &a.Epoch, &a.Floor)...)
	if err == nil && !found {
		err = s.metaMissing()
	}
	switch {
	case err != nil:
	case a.Verdict == sqlbase.Contended || a.Verdict == sqlbase.Missing:
		s.standing.Store(&standing{epoch: a.Epoch, floor: a.Floor, closed: sqlbase.ClosedFor(r), asked: sent})
	case a.Verdict == sqlbase.OtherEpoch || a.Verdict == sqlbase.Quarantine:
		s.standing.Store(nil)
	}
	return a, err
}

// ask makes one attempt, and looks if nothing was granted; first, if nothing is known.
func (s *server) ask(ctx context.Context, r driver.Request, known *standing) (sqlbase.Answer, error) {
	a := sqlbase.Answer{Verdict: sqlbase.Contended}
	var err error
	if known == nil {
		a, err = s.look(ctx, r)
	} else {
		a.Epoch, a.Floor = known.epoch, known.floor
	}
	if err == nil && a.Verdict == sqlbase.Contended {
		token, err := s.attempt(ctx, r, "acquire", s.acquireArgs(r, a))
		if err != nil || token != 0 {
			return sqlbase.Answer{Verdict: sqlbase.Granted, Token: token}, err
		}
		a, err = s.look(ctx, r)
		if err != nil {
			return a, err
		}
	}
	if err != nil || a.Verdict != sqlbase.Missing {
		return a, err
	}
	token, err := s.attempt(ctx, r, "insert", s.insertArgs(r))
	if err != nil || token != 0 {
		return sqlbase.Answer{Verdict: sqlbase.Granted, Token: token}, err
	}
	a.Verdict = sqlbase.Contended
	return a, nil
}

// attempt runs a statement that grants r. The token is 0 if it did not, or somebody else was first. A trigger of the
// user's that runs any statement hides LAST_INSERT_ID; then the row, which has been changed, tells.
func (s *server) attempt(ctx context.Context, r driver.Request, verb string, args []any) (token int64, err error) {
	var done sqlbase.Result
	err = s.run(ctx, func() (err error) {
		done, err = s.once(ctx, verb, args...)
		switch n := sqlerror.MySQL(err); {
		case n == mysqlDuplicate, n == mysqlNoWait, n == mysqlLockWait && s.mariadb:
			done, err = sqlbase.Result{}, nil
		}
		return err
	})
	if err != nil || done.LastID != 0 || done.Affected == 0 {
		return done.LastID, err
	}
	_, err = s.one(ctx, "granted", []any{sqlbind.MySQLBytes(r.Key.Namespace), sqlbind.MySQLBytes(r.Key.Name), r.Nonce.String()}, &token)
	if err != nil {
		err = fmt.Errorf("read the token of what was granted: %s", err) //nolint:errorlint // whatever this had no effect, the grant had
	}
	return token, err
}

// acquireArgs are the parameters of acquire.sql.
func (s *server) acquireArgs(r driver.Request, looked sqlbase.Answer) []any {
	namespace, name, nonce, waiter := sqlbind.MySQLBytes(r.Key.Namespace), sqlbind.MySQLBytes(r.Key.Name), r.Nonce.String(), s.waiters.id.String()
	holder, note := sqlbind.MySQLText(r.Holder), sqlbind.MySQLText(r.Note)
	ttl, closing, minHold := r.TTL.Microseconds(), (r.TTL + r.HandoverDelay).Microseconds(), r.MinHold.Microseconds()
	if s.mariadb {
		return []any{
			closing, nonce, minHold, nonce, looked.Floor, nonce, nonce, holder, note, ttl, waiter, waiter,
			namespace, name, nonce, waiter, looked.Epoch,
		}
	}
	return []any{
		namespace, name, nonce, waiter, looked.Epoch,
		nonce, looked.Floor, nonce, holder, note, nonce, ttl, closing, nonce, minHold, waiter, waiter,
	}
}

// insertArgs are the parameters of insert.sql, which makes the row of a lock that has none.
func (s *server) insertArgs(r driver.Request) []any {
	namespace, name := sqlbind.MySQLBytes(r.Key.Namespace), sqlbind.MySQLBytes(r.Key.Name)
	args := []any{
		namespace, name, r.Nonce.String(), sqlbind.MySQLText(r.Holder), sqlbind.MySQLText(r.Note),
		r.TTL.Microseconds(), sqlbase.ClosedFor(r), sqlbase.ClosedFor(r),
	}
	if s.mariadb {
		return args
	}
	return append(args, namespace, name)
}
