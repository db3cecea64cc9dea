package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlserver"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// restoreLimit is the time limit for restoring a session's setting.
const restoreLimit = time.Second

// Errors with which the server rejects XA START.
// https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
const (
	mysqlInBranch   = 1399 // XAER_RMFAIL: a branch is active
	mysqlOutside    = 1400 // XAER_OUTSIDE: a transaction is open
	mysqlSameBranch = 1440 // XAER_DUPID: another session has a branch of that name
)

// mysql is the dialect of MySQL 8.0 and newer, and of MariaDB 10.6 and newer.
type mysql struct {
	marks

	db    *sql.DB
	table sqltable.Table
}

func newMySQL(db *sql.DB, t sqltable.Table) *mysql {
	return &mysql{marks: marks{sql: load(t, "mysql", "`"), encode: sqlbind.MySQLBytes}, db: db, table: t}
}

func (m *mysql) seal(ctx context.Context, c claim) error {
	return m.own(ctx, func(q querier) error { return m.raise(ctx, q, c) })
}

func (m *mysql) own(ctx context.Context, work func(querier) error) error {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // returns the connection to the pool
	restore, err := m.boundLockWait(ctx, conn)
	if err != nil {
		return m.classify(err)
	}
	defer restore()
	err = m.ownOn(ctx, conn, work)
	switch sqlerror.MySQL(err) {
	case 1969, 3024: // a time limit of the session has ended the statement, but only ctx may end the wait, so the caller tries again
		return retry(err)
	}
	return m.classify(err)
}

// look calls own, because the plain reads of the function work do not wait for other transactions.
func (m *mysql) look(ctx context.Context, work func(querier) error) error { return m.own(ctx, work) }

// ownOn runs the function work in a READ COMMITTED transaction. At this level InnoDB locks no gaps between rows. So an
// open transaction that has locked a mark does not delay the first seal of a neighbouring resource. ownOn begins and
// ends the transaction with statements, because go-sql-driver ignores ctx while it waits for a commit or rollback of
// database/sql.
func (m *mysql) ownOn(ctx context.Context, conn *sql.Conn, work func(querier) error) error {
	q := sqlQuerier{conn: conn}
	err := q.exec(ctx, m.sql["read_committed"])
	if err == nil {
		err = q.exec(ctx, m.sql["begin"])
	}
	if err != nil {
		discard(conn) // the server may have begun the transaction, although the call failed
		return err
	}
	if err = work(q); err == nil {
		err = q.exec(ctx, m.sql["commit"])
	}
	if err != nil {
		undo(ctx, conn, m.sql["rollback"])
	}
	return err
}

// define runs the function work without a transaction, because each CREATE TRIGGER and DROP TRIGGER is a transaction by
// itself. A trigger keeps some settings of the session that creates it, and the pool's settings may prevent the server
// from parsing the statement. So define changes these settings in one session, and closes the session afterwards.
func (m *mysql) define(ctx context.Context, work func(querier) error) error {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it is closed already
	defer discard(conn)
	q := sqlQuerier{conn: conn}
	if err := q.exec(ctx, m.sql["define"]); err != nil {
		return err
	}
	return work(q)
}

// boundLockWait limits the session's lock waits and idle time to about the time that ctx permits. While a statement
// waits, the server does not notice that its client has disconnected or is suspended. The function restore sets the old
// limits again. If it cannot set them, it closes the session.
func (m *mysql) boundLockWait(ctx context.Context, conn *sql.Conn) (restore func(), err error) {
	var version string
	var row, table, idle int64
	if _, err := (sqlQuerier{conn: conn}).row(ctx, m.sql["lock_wait"], nil, &version, &row, &table, &idle); err != nil {
		return nil, err
	}
	if err := sqlserver.Supported(version); err != nil {
		return nil, err
	}
	limit := max(int64(left(ctx)/time.Second), 1)
	if _, err := conn.ExecContext(ctx, m.sql["set_lock_wait"], limit, min(limit, table), min(limit, idle)); err != nil {
		return nil, err
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreLimit)
		defer cancel()
		if _, err := conn.ExecContext(ctx, m.sql["set_lock_wait"], row, table, idle); err != nil {
			discard(conn)
		}
	}, nil
}

func (m *mysql) check(ctx context.Context, q querier, c claim) error {
	for _, r := range c.resources {
		if _, err := m.raiseLazily(ctx, q, c, r); err != nil {
			return m.classify(err)
		}
		var now mark
		var token sql.NullInt64
		var nonce sql.NullString
		_, err := q.row(ctx, m.sql["check"], append(m.key(c, r), m.key(c, r)...), &now.token, &now.nonce, &token, &nonce)
		if err != nil {
			return m.classify(err)
		}
		if !now.isOf(c) {
			return c.refuseCheck(r, now)
		}
		if snapshot := (mark{token: token.Int64, nonce: nonce.String}); !snapshot.isOf(c) {
			return retry(errOldSnapshot)
		}
	}
	return nil
}

var errBranch = errors.New("the transaction is a branch of an XA transaction, which releases the lock on the mark when it is prepared: use an ordinary transaction")

// begun tries to begin a branch of an XA transaction. The server rejects that in an ordinary transaction and in a
// branch, with different errors. Without a transaction the statement succeeds. No other single statement distinguishes
// the three cases. Without autocommit, the locking read of the check has already begun a transaction.
func (m *mysql) begun(ctx context.Context, q querier) error {
	err := q.exec(ctx, m.sql["xa_start"])
	switch sqlerror.MySQL(err) {
	case mysqlOutside:
		return nil
	case mysqlInBranch:
		return errBranch
	case mysqlSameBranch: // another session uses the branch's name; this session is not in a transaction
		return errNoTransaction
	case 0:
		if err != nil {
			return err
		}
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
		defer cancel()
		if err = q.exec(ending, m.sql["xa_end"]); err == nil {
			err = q.exec(ending, m.sql["xa_rollback"])
		}
		if err != nil {
			return fmt.Errorf("%w; close this connection, because a test branch of an XA transaction could not be ended: %w", errNoTransaction, err)
		}
		return errNoTransaction
	default: // the server or a proxy does not support XA, as on a Galera node
		return m.hasSavepoint(ctx, q)
	}
}

// hasSavepoint sets a savepoint and releases it. Outside a transaction the savepoint disappears at once, and the
// release fails.
func (m *mysql) hasSavepoint(ctx context.Context, q querier) error {
	err := q.exec(ctx, m.sql["savepoint"])
	if err == nil {
		err = q.exec(ctx, m.sql["release"])
	}
	if sqlerror.MySQL(err) == 1305 { // the savepoint does not exist
		return errNoTransaction
	}
	return err
}

func (m *mysql) note(ctx context.Context, q querier, s slot) error {
	return m.classify(q.exec(ctx, m.sql["note"], s.id, s.operation))
}

func (m *mysql) outcome(ctx context.Context, id string) (operation int64, err error) {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close() //nolint:errcheck // returns the connection to the pool
	restore, err := m.boundLockWait(ctx, conn)
	if err != nil {
		return 0, err
	}
	defer restore()
	err = m.ownOn(ctx, conn, func(q querier) error {
		_, err := q.row(ctx, m.sql["outcome"], []any{id}, &operation)
		return err
	})
	return operation, err
}

// pruneOutcomes deletes each row by its key. A DELETE that searches for its rows would wait for each row that a
// transaction has locked.
func (m *mysql) pruneOutcomes(ctx context.Context, unused time.Duration) (int, error) {
	ids, err := m.unusedOutcomes(ctx, unused)
	forgotten := 0
	for _, id := range ids {
		if err == nil {
			_, err = m.db.ExecContext(ctx, m.sql["forget_outcome"], id, unused.Microseconds())
		}
		if err == nil {
			forgotten++
		}
	}
	return forgotten, m.classify(err)
}

func (m *mysql) unusedOutcomes(ctx context.Context, unused time.Duration) (ids []string, err error) {
	rows, err := m.db.QueryContext(ctx, m.sql["unused_outcomes"], unused.Microseconds())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func (m *mysql) refused(err error) bool { return sqlerror.MySQL(err) != 0 }

func (m *mysql) explain(err error) error { return err }

// again reports whether the server rolled the transaction back, and may accept it if it runs again.
// https://dev.mysql.com/doc/mysql-errors/en/server-error-reference.html
// https://mariadb.com/kb/en/mariadb-error-code-reference/
func (m *mysql) again(err error) bool {
	switch sqlerror.MySQL(err) {
	case 1205, // lock wait timeout
		1213, // deadlock; on Galera and in replication groups, a conflict with another node
		3101, // a conflict with another node of a replication group, found at the commit
		1020: // the row changed since the snapshot (MariaDB, innodb_snapshot_isolation)
		return true
	default:
		return false
	}
}

func (m *mysql) classify(err error) error {
	switch number := sqlerror.MySQL(err); {
	case m.again(err):
		return retry(err)
	case number == 1146 || number == 1054 || number == 1049: // unknown table, column, database
		return &SchemaError{Table: m.table.String(), Err: err}
	case number == 1044 || number == 1142 || number == 1143:
		return unprivileged(err)
	default:
		return err
	}
}
