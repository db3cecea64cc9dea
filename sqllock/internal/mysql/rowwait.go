package mysql

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// briefFor is how long statements wait for a row for a second at most, after one of them has timed out. The server may keep the session of that
// one for as long (innodb_lock_wait_timeout, 50 s by default).
const briefFor = time.Minute

// restoreLimit bounds putting back the setting of a session.
const restoreLimit = time.Second

// waitsForRow are the statements that wait if another transaction has locked a row or a gap that they need. All others skip locked rows.
var waitsForRow = map[string]bool{"insert": true, "create": true, "adopt_epoch": true, "raise_longest_ttl": true, "raise_floor": true}

// once sends a statement that returns no rows.
//
// MySQL does not notice that the client of a waiting session has gone, and keeps the session until innodb_lock_wait_timeout. Calls that time
// out could use up the sessions of the server that way. So, after one that timed out, statements wait for a second at most, which costs two
// round trips. MariaDB ends such sessions itself.
func (s *server) once(ctx context.Context, verb string, args ...any) (sqlbase.Result, error) {
	switch {
	case s.mariadb || !waitsForRow[verb]:
		return s.q.Exec(ctx, s.sql[verb], args...)
	case time.Since(time.Unix(0, s.givenUp.Load())) < briefFor:
		return s.onceBriefly(ctx, verb, args...)
	}
	r, err := s.q.Exec(ctx, s.sql[verb], args...)
	if err != nil && ctx.Err() != nil && !driver.IsNotApplied(err) {
		s.givenUp.Store(time.Now().UnixNano())
	}
	return r, err
}

// onceBriefly is once in a session that waits for a row for a second at most.
func (s *server) onceBriefly(ctx context.Context, verb string, args ...any) (sqlbase.Result, error) {
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
	if sqlerror.MySQL(err) == mysqlLockWait {
		s.givenUp.Store(time.Now().UnixNano())
	}
	restore, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreLimit)
	defer cancel()
	if _, err := conn.ExecContext(restore, s.sql["wait_as_before"]); err != nil {
		sqlbase.Discard(conn)
	}
	return r, err
}
