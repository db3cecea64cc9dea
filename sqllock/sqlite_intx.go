package sqllock

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlitefile"
)

// fileLookLimit bounds the look beside the caller's transaction.
const fileLookLimit = 250 * time.Millisecond

// lockInTx takes the file's write lock, which a transaction that was begun IMMEDIATE has already.
func (s *sqlite) lockInTx(ctx context.Context, tx querier, key driver.Key) error {
	a, err := s.askInTx(ctx, tx, key)
	if sqlerror.SQLite(err) == sqlitefile.CodeBusySnapshot {
		err = driver.NotApplied(errStaleSnapshot)
	} else if sqlitefile.Busy(err) {
		a.verdict, err = vContended, nil
	}
	if err != nil {
		return s.classify(ctx, "lock in the transaction", key, err)
	}
	if a.verdict != vLocked {
		return a.held()
	}
	return nil
}

// askInTx reads before it writes, because a write keeps the holder of a lease from renewing until the transaction ends. It reads on another
// connection if it can: a read in the transaction would fix the snapshot, and the write would fail if the file changed in between.
func (s *sqlite) askInTx(ctx context.Context, tx querier, key driver.Key) (answer, error) {
	a, looked := s.lookBeside(ctx, key)
	if looked && a.verdict != vContended {
		return a, nil
	}
	restore, err := withBusySlice(ctx, s.db, tx)
	if err != nil {
		return answer{}, err
	}
	if !looked {
		a, err = s.lookInTx(ctx, tx, key)
	}
	if err == nil && a.verdict == vContended {
		_, err = queryOne(ctx, tx, s.sql["lock_in_tx"], []any{key.Namespace, key.Name}, &a.verdict)
	}
	if failed := restore(); err == nil {
		err = failed
	}
	return a, err
}

func (s *sqlite) lookInTx(ctx context.Context, q querier, key driver.Key) (a answer, err error) {
	found, err := queryOne(ctx, q, s.sql["look_in_tx"], []any{key.Namespace, key.Name}, a.dest()...)
	if err == nil && !found {
		err = metaMissing(s.table)
	}
	return a, err
}

// lookBeside reads on another connection, if the pool has a free one and the tables are there: each connection to a database in memory may
// have a database of its own.
func (s *sqlite) lookBeside(ctx context.Context, key driver.Key) (a answer, looked bool) {
	if stats := s.db.Stats(); stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections {
		return answer{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, fileLookLimit)
	defer cancel()
	err := s.once(ctx, func(conn *sql.Conn) (err error) {
		a, err = s.lookInTx(ctx, sqlQuerier{conn}, key)
		return err
	})
	return a, err == nil
}
