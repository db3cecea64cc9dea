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

// besideLimit bounds lookBeside, which needs a second connection.
const besideLimit = time.Second

// LockInTx locks key by taking the file's write lock in tx. A transaction that began with BEGIN IMMEDIATE already has
// the write lock.
func (b *Backend) LockInTx(ctx context.Context, tx sqlbase.Querier, key driver.Key) error {
	a, err := b.askInTx(ctx, tx, key)
	if sqlerror.SQLite(err) == sqlitefile.CodeBusySnapshot {
		err = driver.NotApplied(errStaleSnapshot)
	} else if sqlitefile.Busy(err) {
		a.Verdict, err = sqlbase.Contended, nil
	}
	if err != nil {
		return b.classify(ctx, "lock in the transaction", key, err)
	}
	if a.Verdict != sqlbase.Locked {
		return a.Held()
	}
	return nil
}

// askInTx reads the lock's state before it writes, because after a write no holder of a lease can renew until tx
// ends. If possible, it reads on another connection. A read in tx would fix the snapshot, and the write would then
// fail if the file had changed after the read.
func (b *Backend) askInTx(ctx context.Context, tx sqlbase.Querier, key driver.Key) (sqlbase.Answer, error) {
	a, looked := b.lookBeside(ctx, key)
	if looked && a.Verdict != sqlbase.Contended {
		return a, nil
	}
	restore, err := withBusySlice(ctx, b.file.db, tx)
	if err != nil {
		return sqlbase.Answer{}, err
	}
	if !looked {
		a, err = b.lookInTx(ctx, tx, key)
	}
	if err == nil && a.Verdict == sqlbase.Contended {
		_, err = sqlbase.QueryOne(ctx, tx, b.file.sql["lock_in_tx"], []any{key.Namespace, key.Name}, &a.Verdict)
	}
	if failed := restore(); err == nil {
		err = failed
	}
	return a, err
}

func (b *Backend) lookInTx(ctx context.Context, q sqlbase.Querier, key driver.Key) (a sqlbase.Answer, err error) {
	found, err := sqlbase.QueryOne(ctx, q, b.file.sql["look_in_tx"], []any{key.Namespace, key.Name}, append(a.Dest(), &a.Readers)...)
	if err == nil && !found {
		err = sqlbase.MetaMissing(b.file.table)
	}
	return a, err
}

// lookBeside reads the lock's state on another connection. The result looked is false if the pool has no free
// connection or the read fails. For example, each connection to a database in memory may have a separate database
// without the tables.
func (b *Backend) lookBeside(ctx context.Context, key driver.Key) (a sqlbase.Answer, looked bool) {
	if stats := b.file.db.Stats(); stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections {
		return sqlbase.Answer{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, besideLimit)
	defer cancel()
	err := b.file.once(ctx, func(conn *sql.Conn) (err error) {
		a, err = b.lookInTx(ctx, sqlbase.On(conn), key)
		return err
	})
	return a, err == nil
}
