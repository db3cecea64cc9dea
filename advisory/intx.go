package advisory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/internal/sqlserver"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// TxOption configures one call of [InTx] or [InTxPgx].
type TxOption func(*txOptions)

type txOptions struct {
	namespace string
	wait      time.Duration
	shared    bool
}

// TxNamespace sets the namespace of the lock's name. The default is empty.
func TxNamespace(namespace string) TxOption {
	return func(o *txOptions) { o.namespace = namespace }
}

// TxWait sets how long InTx retries while another holder has the lock. By default InTx makes one attempt.
// The transaction stays open during the retries.
func TxWait(d time.Duration) TxOption { return func(o *txOptions) { o.wait = d } }

// TxShared acquires the lock in shared mode.
func TxShared() TxOption { return func(o *txOptions) { o.shared = true } }

// While InTx retries, the mean delay between two attempts grows from firstTxPause to longTxPause.
const (
	firstTxPause = 5 * time.Millisecond
	longTxPause  = 100 * time.Millisecond
)

// InTx acquires the lock called name until tx commits or rolls back. It needs no backend and no schema, and works
// behind a pooler in transaction mode. The lock excludes every other InTx of that name and every lease of a [Backend]
// on the same database.
//
// Use READ COMMITTED. At REPEATABLE READ and SERIALIZABLE, the snapshot of tx begins before the lock. So tx may not see
// what the last holder has committed.
//
// If another holder has the lock, the error wraps a [*driver.Held], and tx can continue without the lock. Any other
// error means that a statement of tx failed, so roll tx back. The context ctx limits the retries and each statement.
// If ctx ends while a statement runs, the driver ends the transaction.
func InTx(ctx context.Context, tx *sql.Tx, name string, opts ...TxOption) error {
	if tx == nil {
		return driver.Permanent(errors.New("advisory: InTx: the transaction is nil"))
	}
	return inTx(ctx, name, opts, func(statement string, id int64, dest ...any) error {
		return tx.QueryRowContext(ctx, statement, id).Scan(dest...)
	})
}

// InTxPgx is [InTx] for a transaction of pgx.
func InTxPgx(ctx context.Context, tx pgx.Tx, name string, opts ...TxOption) error {
	if tx == nil {
		return driver.Permanent(errors.New("advisory: InTxPgx: the transaction is nil"))
	}
	return inTx(ctx, name, opts, func(statement string, id int64, dest ...any) error {
		return tx.QueryRow(ctx, statement, pgx.QueryExecModeExec, id).Scan(dest...)
	})
}

// txStatements has the statements of InTx. The table name is empty, because these statements use no table.
var txStatements = sync.OnceValue(func() statements { return load(sqltable.Table{}) })

func inTx(ctx context.Context, name string, opts []TxOption, try func(statement string, id int64, dest ...any) error) error {
	var o txOptions
	for _, opt := range opts {
		opt(&o)
	}
	key := driver.Key{Namespace: o.namespace, Name: name}
	if err := key.Check(); err != nil {
		return driver.Permanent(fmt.Errorf("advisory: InTx: %w", err))
	}
	verb := "tx_lock"
	if o.shared {
		verb += "_shared"
	}
	end := time.Now().Add(o.wait)
	for step := firstTxPause; ; step = min(2*step, longTxPause) {
		locked, version := false, ""
		if err := try(txStatements()[verb], keyOf(key), &locked, &version); err != nil {
			if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) { // if ctx ends during a statement, the driver closes the connection, and its error may not wrap the error of ctx
				err = fmt.Errorf("%w: %w", ended, err)
			}
			return fmt.Errorf("advisory: lock %q in the transaction: %w", key, oneline.Error(err))
		}
		if err := sqlserver.Supported(version); err != nil {
			return driver.Permanent(fmt.Errorf("advisory: lock %q in the transaction: %w", key, err))
		}
		if locked {
			return nil
		}
		refused := fmt.Errorf("advisory: lock %q in the transaction: %w", key, &driver.Held{Reason: driver.Leased})
		left := time.Until(end)
		if left <= 0 {
			return refused
		}
		timer := time.NewTimer(min(left, step/2+rand.N(step)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w: %w", refused, ctx.Err())
		}
	}
}
