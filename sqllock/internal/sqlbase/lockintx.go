package sqlbase

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

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
	if err := checkKey(key); err != nil {
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

// checkKey checks the namespace and the name by the same rules as a Locker, because InTx is called without a Locker.
func checkKey(key driver.Key) error {
	switch {
	case key.Name == "" || len(key.Name) > driver.MaxName:
		return fmt.Errorf("name of %d bytes: want 1 to %d", len(key.Name), driver.MaxName)
	case len(key.Namespace) > driver.MaxNamespace:
		return fmt.Errorf("namespace of %d bytes: want at most %d", len(key.Namespace), driver.MaxNamespace)
	}
	for _, part := range []string{key.Namespace, key.Name} {
		if !utf8.ValidString(part) {
			return fmt.Errorf("%q is not valid UTF-8", part)
		}
		if strings.IndexByte(part, 0) >= 0 {
			return fmt.Errorf("%q has a NUL byte", part)
		}
	}
	return nil
}
