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

// TxNamespace is the namespace of the lock's name. The default is the empty one.
func TxNamespace(namespace string) TxOption {
	return func(o *txOptions) { o.namespace = namespace }
}

// TxWait is how long InTx goes on asking while the lock is held. The default is to answer at once.
// The transaction stays open meanwhile.
func TxWait(d time.Duration) TxOption {
	return func(o *txOptions) { o.wait = d }
}

// InTx takes the lock called name until tx ends, whether by commit or by rollback: as row lock on
// the lock's row, without lease, renewal or token. It excludes every other InTx of that name, and
// every lease: none is granted meanwhile, and a lease that is alive makes InTx fail.
//
// The error wraps a [*driver.Held] while somebody else has the lock; tx can then go on without it.
// Any other error is to be treated as the failure of any other statement of tx. ctx bounds the
// waiting and the statements.
//
// On MySQL and MariaDB a second connection of the backend's pool looks first, and makes the row of a
// name that has none, so that the snapshot of tx is not taken before its lock: the pool must allow
// two connections, and the row, which nobody holds, outlives a rollback of tx.
//
// On SQLite, where a transaction locks the whole file, every other writer of the file waits for tx.
// Begin it IMMEDIATE there, or call InTx before anything else is read.
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
