package mysql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// besideLimit is how long the statements that LockInTx runs on a second connection may take together. Without a limit
// they could wait forever for a free connection of the pool.
const besideLimit = 5 * time.Second

var errOneConnection = errors.New("the pool is limited to one connection, and InTx needs a second connection besides the transaction's")

// LockInTx locks the row of key in tx. It first reads the lock's state on a second connection, because a read in tx
// has bad effects. A plain read would fix the snapshot of tx before tx has the lock. A locking read would lock the row
// of a live lease, or the gap where a missing row belongs, until tx ends. So the lease could not be renewed, and no row
// could be inserted into the gap.
func (b *Backend) LockInTx(ctx context.Context, tx sqlbase.Querier, key driver.Key) error {
	a, err := b.settleInTx(ctx, tx, key)
	if err != nil {
		return b.classify(ctx, "lock in the transaction", key, err)
	}
	if a.Verdict != sqlbase.Locked {
		return a.Held()
	}
	return nil
}

func (b *Backend) settleInTx(ctx context.Context, tx sqlbase.Querier, key driver.Key) (sqlbase.Answer, error) {
	if b.db.Stats().MaxOpenConnections == 1 {
		return sqlbase.Answer{}, driver.Permanent(errOneConnection)
	}
	beside, cancel := context.WithTimeout(ctx, besideLimit)
	defer cancel()
	s, err := b.server(beside)
	if err != nil {
		return sqlbase.Answer{}, err
	}
	return sqlbase.Settle(ctx, func() (sqlbase.Answer, error) {
		a, err := b.lookBeside(beside, s, key)
		if err != nil || a.Verdict != sqlbase.Contended {
			return a, err
		}
		locked, found, err := lockRowInTx(ctx, s, tx, key)
		if !found {
			return a, err
		}
		return locked, err
	}, mends(beside, s, 0))
}

// lookBeside reads, outside the caller's transaction, why the lock cannot be acquired. If the lock looks free, the
// verdict is Contended, and the caller can lock the row. The row exists, because lookBeside inserts a missing row.
func (b *Backend) lookBeside(ctx context.Context, s *server, key driver.Key) (sqlbase.Answer, error) {
	a, err := b.look(ctx, s, driver.Request{Key: key})
	if err == nil && a.Verdict == sqlbase.Missing {
		namespace, name := encoded(key)
		_, err = s.exec(ctx, "create", namespace, name)
		if sqlerror.MySQL(err) == duplicateKey {
			err = nil
		}
		a.Verdict = sqlbase.Contended
	}
	if err != nil && !driver.IsPermanent(err) {
		err = driver.NotApplied(fmt.Errorf("read the lock outside the transaction: %w", err)) // the caller's transaction is unchanged
	}
	return a.Answer, err
}

// lockRowInTx locks the row in the caller's transaction. The statement sets innodb_snapshot_isolation to OFF, because
// MariaDB (by default from 11.6.2 on) would otherwise take a snapshot with it, or roll the transaction back if the row
// is newer than the snapshot. The result found is false if another transaction has locked
// the row. The error of NOWAIT normally undoes only the statement. Some servers undo the whole transaction after a lock
// time-out (innodb_rollback_on_timeout). There lockRowInTx uses SKIP LOCKED instead. At REPEATABLE READ and
// SERIALIZABLE, SKIP LOCKED locks the gap after the skipped row. Until the transaction ends, the first grant of a name
// in that gap is then refused as contended.
func lockRowInTx(ctx context.Context, s *server, tx sqlbase.Querier, key driver.Key) (a sqlbase.Answer, found bool, err error) {
	verb := "lock_in_tx"
	if s.timeoutUndoesAll {
		verb = "lock_in_tx_or_skip"
	}
	namespace, name := encoded(key)
	found, err = sqlbase.QueryOne(ctx, tx, s.sql[verb], []any{namespace, name}, a.Dest()...)
	if n := sqlerror.MySQL(err); n == rowLockedNoWait || n == rowLockTimeout {
		return a, false, nil
	}
	return a, found, err
}
