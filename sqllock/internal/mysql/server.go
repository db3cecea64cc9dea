package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlserver"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// server sends statements to a MySQL or MariaDB server.
type server struct {
	db               *sql.DB
	q                sqlbase.Querier   // sends through the pool db, or through the reserve (an additional connection)
	sql              map[string]string // the statements, keyed by file name without .sql
	mariadb          bool
	timeoutUndoesAll bool // whether a time-out while waiting for a row undoes the whole transaction (innodb_rollback_on_timeout)

	timedOut  *atomic.Int64 // the last time-out of a statement that may wait for a row, in nanoseconds since 1970
	forbidden *atomic.Bool  // whether a call was refused because the ear belongs to another user
	watches   *watches
}

// detect reads whether db connects to MySQL or MariaDB, and loads the statements for that server.
func detect(ctx context.Context, db *sql.DB, q sqlbase.Querier, t sqltable.Table) (*server, error) {
	s := &server{db: db, q: q, sql: t.Statements(files, "sql/mysql", "`"), timedOut: new(atomic.Int64), forbidden: new(atomic.Bool), watches: newWatches()}
	var version, literals string
	if _, err := sqlbase.QueryOne(ctx, sqlbase.On(db), s.sql["server"], nil, &version, &s.timeoutUndoesAll, &literals); err != nil {
		return nil, driver.NotApplied(fmt.Errorf("read the server's version: %w", err))
	}
	var err error
	if s.mariadb, err = sqlserver.MySQL(version); err != nil {
		return nil, driver.Permanent(err)
	}
	if s.mariadb {
		if wideCharacters[literals] {
			return nil, driver.Permanent(fmt.Errorf("the session's character_set_connection is %s, in which MariaDB reads no JSON: set collation_connection to one of utf8mb4", literals))
		}
		maps.Copy(s.sql, t.Statements(files, "sql/mariadb", "`"))
	}
	return s, nil
}

// wideCharacters lists the character sets in which MariaDB cannot read the paths of JSON_TABLE (error 4042). If the
// session's literals have such a character set, no lease can be renewed.
var wideCharacters = map[string]bool{"ucs2": true, "utf16": true, "utf16le": true, "utf32": true}

// through returns a copy of s that sends its statements through q.
func (s *server) through(q sqlbase.Querier) *server {
	by := *s
	by.q = q
	return &by
}

// skipLocked completes the parameters of a statement that must not wait while another transaction has locked the row.
// On MySQL such a statement selects the row a second time with SKIP LOCKED, so skipLocked appends key. On MariaDB the
// statement has a lock time-out instead, and needs no further parameters.
func (s *server) skipLocked(key driver.Key, args []any) []any {
	if s.mariadb {
		return args
	}
	namespace, name := encoded(key)
	return append(args, namespace, name)
}

// retry calls the given function, and repeats the call while the server reports that it has undone the statement.
func (s *server) retry(ctx context.Context, once func() error) error {
	return sqlbase.Retry(ctx, transient, once)
}

// queryRow runs a statement that returns at most one row, and reports whether it returned one.
func (s *server) queryRow(ctx context.Context, verb string, args []any, dest ...any) (found bool, err error) {
	err = s.retry(ctx, func() error {
		found, err = sqlbase.QueryOne(ctx, s.q, s.sql[verb], args, dest...)
		return err
	})
	return found, err
}

// exec runs a statement that returns no rows.
func (s *server) exec(ctx context.Context, verb string, args ...any) (r sqlbase.Result, err error) {
	err = s.retry(ctx, func() error {
		r, err = s.send(ctx, verb, args...)
		return err
	})
	return r, err
}

// errRowLocked is returned when a statement would have to wait for a row.
var errRowLocked = errors.New("the row is locked by another transaction")

// patience is how long a statement that ends a grant is retried while another transaction has locked the row.
const patience = time.Second

// end runs a statement that ends a grant. If the statement changes no row, the function why reads the reason. end
// retries while another transaction has locked the row, for at most patience. If processes wait for the lock, end wakes
// the first of them.
func (s *server) end(ctx context.Context, verb string, key driver.Key, args []any, why func(*sqlbase.Answer) (found bool, err error)) error {
	again := func(err error) bool { return errors.Is(err, errRowLocked) || transient(err) }
	return sqlbase.RetryWithin(ctx, patience, again, func() error {
		done, err := s.q.Exec(ctx, s.sql[verb], args...)
		if err != nil {
			return err
		}
		// The server counts only rows whose values change. This statement changes the nonce or the token of each row that
		// matches, so the count is zero only if no row matches.
		if done.Affected > 0 {
			s.callFirst(ctx, key, done.LastID)
			return nil
		}
		var a sqlbase.Answer
		found, err := why(&a)
		switch {
		case err != nil:
			return err
		case !found:
			return driver.ErrNotHeld
		case a.Verdict == sqlbase.Released: // by an earlier request, or by a transaction of the caller, which calls nobody
			s.watches.released(s, key)
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

// callLimit bounds the statement that wakes a process, which delays the end of a release.
const callLimit = 250 * time.Millisecond

// callFirst wakes the first process of the queue of key, which has the ear with the given number. If the lock stays
// free, watches wakes the process again, and the next ones.
func (s *server) callFirst(ctx context.Context, key driver.Key, ear int64) {
	if ear != 0 {
		_ = s.call(ctx, ear)
		s.watches.released(s, key)
	}
}

// call wakes the waiters of the process that has the ear with the given number. If the number is zero, there is no such
// process. A release ignores the error, because the waiters of a process that is not woken poll.
func (s *server) call(ctx context.Context, ear int64) error {
	if ear == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	_, err := s.q.Exec(ctx, strings.Replace(s.sql["call"], noEar, fmt.Sprintf("%0*x", len(noEar), ear), 1))
	if sqlerror.MySQL(err) == notTheOwner {
		s.forbidden.Store(true)
	}
	return err
}

// noEar is the number in call.sql, which the number of the ear replaces.
const noEar = "000000000000"

// briefFor is the period after a time-out in which each statement waits for a locked row for at most one second. For
// up to innodb_lock_wait_timeout (50 s by default), the server may still keep the session of the statement that timed
// out.
const briefFor = time.Minute

// restoreLimit bounds the statement that restores a session's setting.
const restoreLimit = time.Second

// waitsForRow lists the statements that wait while another transaction has locked a row or a gap that they need. All
// other statements skip locked rows.
var waitsForRow = map[string]bool{"insert": true, "insert_shared": true, "create": true, "adopt_epoch": true, "raise_longest_ttl": true, "raise_floor": true}

// send sends a statement that returns no rows. It does not retry.
//
// While a session waits for a row, MySQL does not detect that the client has closed the connection. MySQL keeps the
// session until innodb_lock_wait_timeout has passed. So calls that time out at the client could use up the server's
// connections. To prevent this, statements wait for at most one second for some time after a time-out. This limit costs
// two further round trips for each statement. MariaDB ends such sessions itself.
func (s *server) send(ctx context.Context, verb string, args ...any) (sqlbase.Result, error) {
	switch {
	case s.mariadb || !waitsForRow[verb]:
		return s.q.Exec(ctx, s.sql[verb], args...)
	case time.Since(time.Unix(0, s.timedOut.Load())) < briefFor:
		return s.sendBriefly(ctx, verb, args...)
	}
	r, err := s.q.Exec(ctx, s.sql[verb], args...)
	if err != nil && ctx.Err() != nil && !driver.IsNotApplied(err) {
		s.timedOut.Store(time.Now().UnixNano())
	}
	return r, err
}

// sendBriefly sends a statement in a session that waits for a locked row for at most one second.
func (s *server) sendBriefly(ctx context.Context, verb string, args ...any) (sqlbase.Result, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return sqlbase.Result{}, driver.NotApplied(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, s.sql["wait_briefly"]); err != nil {
		sqlbase.Discard(conn)
		return sqlbase.Result{}, driver.NotApplied(err)
	}
	r, err := sqlbase.On(conn).Exec(ctx, s.sql[verb], args...)
	if sqlerror.MySQL(err) == rowLockTimeout {
		s.timedOut.Store(time.Now().UnixNano())
	}
	restore, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreLimit)
	defer cancel()
	if _, err := conn.ExecContext(restore, s.sql["wait_as_before"]); err != nil {
		sqlbase.Discard(conn)
	}
	return r, err
}
