package fence_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
)

// twoOrders replaces the orders 1 and 2, whose lines are in the ledger. The lease old has checked the two orders. The
// lease newer is the successor of the lease old.
func (s *store) twoOrders(t *testing.T) (old, newer *rowlock.Lease) {
	t.Helper()
	s.empty(t, "orders", "ledger")
	s.exec(t, "INSERT INTO orders (id) VALUES (1)")
	s.exec(t, "INSERT INTO orders (id) VALUES (2)")
	old = s.lease(t, "orders")
	s.addLine(t, old, 1, true)
	s.addLine(t, old, 2, true)
	return old, s.lease(t, "orders")
}

// addLine adds a line to the order id in a transaction of its own. If the parameter counts is true, it also updates the
// row of the order.
func (s *store) addLine(t *testing.T, lease *rowlock.Lease, id int64, counts bool) {
	t.Helper()
	tx := s.begin(t, sql.LevelReadCommitted)
	require.NoError(t, s.guard.CheckRow(lease.Context(), tx, orderRow, id))
	if counts {
		_, err := tx.ExecContext(t.Context(), s.bind("UPDATE orders SET n = n + 1 WHERE id = ?"), id)
		require.NoError(t, err)
	}
	_, err := tx.ExecContext(t.Context(), s.bind("INSERT INTO ledger (token, seen) VALUES (?, 0)"), id)
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
}

func (s *store) linesOf(t *testing.T, tx *sql.Tx, id int64) (n int64, err error) {
	t.Helper()
	err = tx.QueryRowContext(t.Context(), s.bind("SELECT count(*) FROM ledger WHERE token = ?"), id).Scan(&n)
	return n, err
}

// missesALine reports whether a CheckRow after a read does not notice that the transaction's snapshot is older than the
// last line of the order. MySQL has no statement that reports whether the transaction has a snapshot. A statement that
// compares the row with the snapshot would create the snapshot. MariaDB notices only that the row of the order itself
// was written.
func missesALine(s *store, level sql.IsolationLevel, counts bool) bool {
	return level == sql.LevelRepeatableRead && (s.name == "mysql" || s.dialect == migrations.MySQL && !counts)
}

// Promise: a transaction may check all its rows before it reads. It then sees everything that older holders have
// committed in transactions that checked one of these rows, or it gets an ErrRetry. This holds at every isolation level
// of every engine. A transaction that reads between two checks gets an ErrRetry if its snapshot lacks such data. At
// REPEATABLE READ there are two exceptions: MySQL, and MariaDB if the older holder has not written the row itself.
func TestASecondRowThatAnOlderHolderHasJustWritten(t *testing.T) {
	t.Parallel()
	for _, e := range enginesOf(t) {
		if e.dialect == migrations.SQLite {
			continue // a SQLite file has one writer at a time
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			s.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, lock_token bigint NOT NULL DEFAULT 0, n bigint NOT NULL DEFAULT 0)")
			for _, level := range e.scheduled() {
				for _, readsBetween := range []bool{false, true} {
					for _, counts := range []bool{false, true} {
						what := fmt.Sprintf("%s, reads between: %v, writes the row: %v", level, readsBetween, counts)
						old, newer := s.twoOrders(t)
						tx := s.begin(t, level)
						require.NoError(t, s.guard.CheckRow(newer.Context(), tx, orderRow, 1), what)
						if readsBetween {
							n, err := s.linesOf(t, tx, 1)
							require.NoError(t, err, what)
							require.EqualValues(t, 1, n, what)
						}
						if level == sql.LevelSerializable && s.dialect == migrations.MySQL && readsBetween {
							require.NoError(t, tx.Rollback())
							continue // the first transaction has locked the rows that it read, so the older holder could not write
						}
						s.addLine(t, old, 2, counts)
						err := s.guard.CheckRow(newer.Context(), tx, orderRow, 2)
						if err != nil {
							assert.ErrorIs(t, err, fence.ErrRetry, what)
							assert.NotErrorIs(t, err, fence.ErrStale, what)
						} else if n, err := s.linesOf(t, tx, 2); !s.undone(err) { // at SERIALIZABLE, innodb_snapshot_isolation makes the read fail
							require.NoError(t, err, what)
							assert.Equal(t, readsBetween && missesALine(s, level, counts), n != 2, what)
						}
						require.NoError(t, tx.Rollback())
					}
				}
			}
		})
	}
}
