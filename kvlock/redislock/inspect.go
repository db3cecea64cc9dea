package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

func (b *Backend) locks() redisbase.Locks {
	return redisbase.Locks{Client: b.client, Prefix: b.options.prefix}
}

// Inspect implements [driver.Operator].
func (b *Backend) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	return do(ctx, b, "inspect", key, func(ctx context.Context) (driver.Status, error) { return b.locks().Inspect(ctx, key) })
}

// List implements [driver.Operator]. It scans all keys of the database, a page at a time, so its duration depends on
// their number. Locks that appear or disappear meanwhile may be missing or included.
func (b *Backend) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	return do(ctx, b, "list locks", driver.Key{}, func(ctx context.Context) ([]driver.Status, error) {
		return b.locks().List(ctx, namespace, all)
	})
}

// Prune implements [driver.Operator]. Redis deletes released locks after five minutes, and locks that were not
// released after the time that [Retention] sets. So Prune is only needed to delete these locks earlier. A lock with a
// tick is deleted, together with its tick, only by Prune. Tokens keep rising, because the server's record keeps the
// largest token of the deleted locks.
func (b *Backend) Prune(ctx context.Context, unused time.Duration) (int, error) {
	return do(ctx, b, "prune locks", driver.Key{}, func(ctx context.Context) (int, error) { return b.locks().Prune(ctx, unused) })
}

// ForceRelease implements [driver.Operator].
func (b *Backend) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	_, err := do(ctx, b, "force release of", key, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, b.forceRelease(ctx, key, token, live)
	})
	return err
}

func (b *Backend) forceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	alive := "0"
	if live {
		alive = "1"
	}
	a, err := redisbase.Read(redisbase.Run(ctx, b.client, forceReleaseScript.On(
		[]string{b.options.prefix.Encode(key)}, token.String(), alive, b.options.retention.Milliseconds(),
	)))
	switch {
	case err != nil:
		return err
	case a.Verdict == "leased":
		return a.Held()
	case a.Verdict == "released":
		return nil
	case a.Verdict == "not held":
		return driver.ErrNotHeld
	}
	return fmt.Errorf("unexpected reply of a script: %q", a.Verdict)
}
