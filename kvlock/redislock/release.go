package redislock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Release implements [driver.Backend].
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	_, err := do(ctx, b, func(ctx context.Context) (struct{}, error) { return struct{}{}, b.release(ctx, g) })
	if err != nil && !errors.Is(err, driver.ErrNotHeld) {
		err = redisbase.Describe(ctx, pkg, "release", g.Key, err)
	}
	return err
}

func (b *Backend) release(ctx context.Context, g driver.Grant) error {
	known, err := redisbase.Run(ctx, b.client, releaseScript.On(b.recorded(b.options.prefix.Encode(g.Key)),
		g.Nonce.String(), g.Token.String(), redisbase.Micros(g.MinHold), b.options.retention.Milliseconds(), b.options.prefix.Waiters(), b.elsewhere(),
	)).Bool()
	if err == nil && !known {
		return driver.ErrNotHeld
	}
	return err
}
