package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlitefile"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// fileLookLimit bounds the look beside the caller's transaction.
const fileLookLimit = 250 * time.Millisecond

// LockInTx takes the file's write lock, which a transaction that was begun IMMEDIATE has already.
func (s *Backend) LockInTx(ctx context.Context, tx sqlbase.Querier, key driver.Key) error {
	a, err := s.askInTx(ctx, tx, key)
	if sqlerror.SQLite(err) == sqlitefile.CodeBusySnapshot {
		err = driver.NotApplied(errStaleSnapshot)
	} else if sqlitefile.Busy(err) {
		a.Verdict, err = sqlbase.Contended, nil
	}
	if err != nil {
		return s.classify(ctx, "lock in the transaction", key, err)
	}
	if a.Verdict != sqlbase.Locked {
		return a.Held()
	}
	return nil
}

// askInTx reads before it writes, because a write keeps the holder of a lease from renewing until the transaction ends. It reads on another
// connection if it can: a read in the transaction would fix the snapshot, and the write would fail if the file changed in between.
func (s *Backend) askInTx(ctx context.Context, tx sqlbase.Querier, key driver.Key) (sqlbase.Answer, error) {
	a, looked := s.lookBeside(ctx, key)
	if looked && a.Verdict != sqlbase.Contended {
		return a, nil
	}
	restore, err := withBusySlice(ctx, s.db, tx)
	if err != nil {
		return sqlbase.Answer{}, err
	}
	if !looked {
		a, err = s.lookInTx(ctx, tx, key)
	}
	if err == nil && a.Verdict == sqlbase.Contended {
		_, err = sqlbase.QueryOne(ctx, tx, s.sql["lock_in_tx"], []any{key.Namespace, key.Name}, &a.Verdict)
	}
	if failed := restore(); err == nil {
		err = failed
	}
	return a, err
}

func (s *Backend) lookInTx(ctx context.Context, q sqlbase.Querier, key driver.Key) (a sqlbase.Answer, err error) {
	found, err := sqlbase.QueryOne(ctx, q, s.sql["look_in_tx"], []any{key.Namespace, key.Name}, a.Dest()...)
	if err == nil && !found {
		err = sqlbase.MetaMissing(s.table)
	}
	return a, err
}

// lookBeside reads on another connection, if the pool has a free one and the tables are there: each connection to a database in memory may
// have a database of its own.
func (s *Backend) lookBeside(ctx context.Context, key driver.Key) (a sqlbase.Answer, looked bool) {
	if stats := s.db.Stats(); stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections {
		return sqlbase.Answer{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, fileLookLimit)
	defer cancel()
	err := s.once(ctx, func(conn *sql.Conn) (err error) {
		a, err = s.lookInTx(ctx, sqlbase.On(conn), key)
		return err
	})
	return a, err == nil
}
