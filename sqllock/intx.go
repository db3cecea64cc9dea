package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/postgres"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// TxOption changes one call of [Backend.InTx].
type TxOption func(*txOptions)

type txOptions struct {
	namespace string
	wait      time.Duration
}

// TxNamespace sets the namespace of the lock's name. The default is the empty namespace.
func TxNamespace(namespace string) TxOption {
	return func(o *txOptions) { o.namespace = namespace }
}

// TxWait sets how long InTx retries while the lock is held. By default InTx makes one attempt. While InTx waits, your
// transaction stays open.
func TxWait(d time.Duration) TxOption {
	return func(o *txOptions) { o.wait = d }
}

// InTx acquires the lock called name until tx commits or rolls back. InTx locks the row of the lock. It creates no
// lease and no token, and nothing has to be renewed. Until tx ends, no lease of that name is granted, and no other
// transaction acquires that name. While a lease of that name is held, InTx fails.
//
// If the lock is held, the error wraps a [*driver.Held], and you can continue to use tx. Handle any other error like
// a failed statement of tx. ctx limits the waiting and the statements.
//
// On Postgres, tx needs the isolation level READ COMMITTED. At REPEATABLE READ and SERIALIZABLE, InTx fails without
// locking: the snapshot of tx would be older than the lock, so tx would not see the writes of the last holder.
//
// On MySQL and MariaDB, InTx first reads the row of the lock on a second connection of the backend's pool, and inserts
// a missing row there. So the pool must allow two connections. A plain read in tx would fix the snapshot of tx too
// early, before tx has the lock. The inserted row has no holder, and remains after a rollback of tx. If you read in tx
// before you call InTx at REPEATABLE READ, later reads do not show what the previous holder has committed.
//
// On SQLite a transaction locks the whole file, so every other writer of the file waits for tx. On SQLite, begin tx
// with BEGIN IMMEDIATE, or call InTx before you read anything else in tx.
func (b *Backend) InTx(ctx context.Context, tx *sql.Tx, name string, opts ...TxOption) error {
	if tx == nil {
		return driver.Permanent(errors.New("sqllock: InTx: the transaction is nil"))
	}
	return b.inTx(ctx, sqlbase.On(tx), name, opts)
}

// InTxPgx is [Backend.InTx] for a transaction of pgx. The backend must come from [Postgres] or [Pgx].
func (b *Backend) InTxPgx(ctx context.Context, tx pgx.Tx, name string, opts ...TxOption) error {
	if tx == nil {
		return driver.Permanent(errors.New("sqllock: InTxPgx: the transaction is nil"))
	}
	if _, ok := b.dialect.(*postgres.Backend); !ok && b.err == nil {
		return driver.Permanent(errors.New("sqllock: InTxPgx: the backend is not one for Postgres"))
	}
	return b.inTx(ctx, postgres.On(tx), name, opts)
}

func (b *Backend) inTx(ctx context.Context, tx sqlbase.Querier, name string, opts []TxOption) error {
	var o txOptions
	for _, opt := range opts {
		opt(&o)
	}
	return sqlbase.LockInTx(ctx, b.dialect, tx, driver.Key{Namespace: o.namespace, Name: name}, o.wait)
}
