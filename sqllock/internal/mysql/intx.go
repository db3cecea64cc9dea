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

// besideLimit bounds what InTx does on a second connection: the pool may have none to spare.
const besideLimit = 5 * time.Second

var errOneConnection = errors.New("the pool is limited to one connection, and InTx needs a second one beside the transaction")

// LockInTx looks on a connection of its own first. A transaction cannot look without doing harm: a
// plain read would fix the snapshot of the caller's transaction before it has the lock, and a
// locking read would lock a lease that is alive, or the gap where a missing row belongs, to the end
// of the transaction.
func (m *Backend) LockInTx(ctx context.Context, tx sqlbase.Querier, key driver.Key) error {
	a, err := m.settleInTx(ctx, tx, key)
	if err != nil {
		return m.classify(ctx, "lock in the transaction", key, err)
	}
	if a.Verdict != sqlbase.Locked {
		return a.Held()
	}
	return nil
}

func (m *Backend) settleInTx(ctx context.Context, tx sqlbase.Querier, key driver.Key) (sqlbase.Answer, error) {
	if m.db.Stats().MaxOpenConnections == 1 {
		return sqlbase.Answer{}, driver.Permanent(errOneConnection)
	}
	beside, cancel := context.WithTimeout(ctx, besideLimit)
	defer cancel()
	s, err := m.server(beside)
	if err != nil {
		return sqlbase.Answer{}, err
	}
	return sqlbase.Settle(ctx, func() (sqlbase.Answer, error) {
		a, err := s.lookBeside(beside, key)
		if err != nil || a.Verdict != sqlbase.Contended {
			return a, err
		}
		b, err := s.lockRow(ctx, tx, key)
		if b.Verdict == "" {
			return a, err
		}
		return b, err
	}, s.mends(beside, 0))
}

// lockRow locks the row in the caller's transaction. The answer has no verdict when it is locked by
// another one. NOWAIT is an error that undoes the statement only, except on a server that undoes
// the whole transaction when a wait for a lock ends. There the row is skipped, which locks the gap
// behind it from REPEATABLE READ on: first grants of names that belong there are contended until
// the transaction ends.
func (s *server) lockRow(ctx context.Context, tx sqlbase.Querier, key driver.Key) (sqlbase.Answer, error) {
	verb := "lock_in_tx"
	if s.timeoutUndoesAll {
		verb = "lock_in_tx_or_skip"
	}
	var a sqlbase.Answer
	_, err := sqlbase.QueryOne(ctx, tx, s.sql[verb], []any{sqlbind.MySQLBytes(key.Namespace), sqlbind.MySQLBytes(key.Name)}, a.Dest()...)
	if n := sqlerror.MySQL(err); n == mysqlNoWait || n == mysqlLockWait {
		return sqlbase.Answer{}, nil
	}
	return a, err
}

// lookBeside says, outside of the caller's transaction, why the lock is closed, or that nothing
// speaks against it; then there is a row to lock.
func (s *server) lookBeside(ctx context.Context, key driver.Key) (sqlbase.Answer, error) {
	a, err := s.look(ctx, driver.Request{Key: key})
	if err == nil && a.Verdict == sqlbase.Missing {
		_, err = s.Exec(ctx, "create", sqlbind.MySQLBytes(key.Namespace), sqlbind.MySQLBytes(key.Name))
		if sqlerror.MySQL(err) == mysqlDuplicate {
			err = nil
		}
		a.Verdict = sqlbase.Contended
	}
	if err != nil && !driver.IsPermanent(err) {
		err = driver.NotApplied(fmt.Errorf("look beside the transaction: %w", err)) // which has not been touched
	}
	return a, err
}
