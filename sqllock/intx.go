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

// TxWait sets how long InTx retries while the lock is held. By default InTx makes one attempt. The transaction stays
// open while InTx waits.
func TxWait(d time.Duration) TxOption {
	return func(o *txOptions) { o.wait = d }
}

// InTx acquires the lock called name until tx commits or rolls back. It locks the lock's row and creates no lease,
// renewal or token. It excludes every other InTx of that name, and every lease: no lease is granted until tx ends, and
// InTx fails while a lease is held.
//
// The error wraps a [*driver.Held] if the lock is held; tx stays usable then. Treat any other error as you treat the
// failure of any other statement of tx. ctx bounds the waiting and the statements.
//
// On MySQL and MariaDB a second connection of the backend's pool first reads the row, and inserts it if it is missing.
// This keeps the snapshot of tx from being taken before its lock. So the pool must allow two connections. The inserted
// row has no holder, and remains after a rollback of tx.
//
// On SQLite, where a transaction locks the whole file, every other writer of the file waits for tx. Begin tx IMMEDIATE
// there, or call InTx before you read anything else.
func (b *Backend) InTx(ctx context.Context, tx *sql.Tx, name string, opts ...TxOption) error {
	if tx == nil {
		return driver.Permanent(errors.New("sqllock: InTx: the transaction is nil"))
	}
	return b.inTx(ctx, sqlbase.On(tx), name, opts)
}

// InTxPgx is [Backend.InTx] for a transaction of pgx. The backend must be one for Postgres.
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
