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

// besideLimit bounds the look on a second connection.
const besideLimit = 250 * time.Millisecond

// LockInTx takes the file's write lock. A transaction that was begun IMMEDIATE already has the write lock.
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

// askInTx reads before it writes, because after a write the holder of a lease cannot renew until the transaction
// ends. It reads on another connection if possible. A read in the transaction would fix the snapshot, and the write
// would fail if the file had changed after the read.
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
	found, err := sqlbase.QueryOne(ctx, q, b.file.sql["look_in_tx"], []any{key.Namespace, key.Name}, a.Dest()...)
	if err == nil && !found {
		err = sqlbase.MetaMissing(b.file.table)
	}
	return a, err
}

// lookBeside reads on another connection, if the pool has a free one and that connection sees the tables. Each
// connection to a database in memory may have a separate database.
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
