package sqlbase

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/oneline"
)

// These constants are the shortest and the longest delay between two attempts of a waiting InTx.
const (
	firstTxPause = 5 * time.Millisecond
	longTxPause  = 100 * time.Millisecond
)

// TxLocker locks a name in the caller's transaction.
type TxLocker interface {
	// LockInTx locks the row of key in the caller's transaction, or returns *driver.Held at once. It never waits for
	// another transaction and never leaves tx unusable.
	LockInTx(ctx context.Context, tx Querier, key driver.Key) error
}

// LockInTx calls l.LockInTx until it has locked the name, or the duration wait has passed. In the second case it
// returns the last refusal.
func LockInTx(ctx context.Context, l TxLocker, tx Querier, key driver.Key, wait time.Duration) error {
	if err := key.Check(); err != nil {
		return driver.Permanent(fmt.Errorf("sqllock: InTx: %w", err))
	}
	end := time.Now().Add(wait)
	for step := firstTxPause; ; step = min(2*step, longTxPause) {
		err := l.LockInTx(ctx, tx, key)
		var held *driver.Held
		if !errors.As(err, &held) {
			return oneline.Error(err)
		}
		err = fmt.Errorf("sqllock: lock %q in the transaction: %w", key, err)
		left := time.Until(end)
		if left <= 0 {
			return err
		}
		if !backoff.Sleep(ctx, min(left, backoff.Jitter(step))) {
			return fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}
