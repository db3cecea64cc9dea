package redislock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
)

// Release implements [driver.Backend].
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	_, err := do(ctx, b, func(ctx context.Context) (struct{}, error) { return struct{}{}, b.release(ctx, g) })
	if err != nil && !errors.Is(err, driver.ErrNotHeld) {
		err = describe(ctx, "release", g.Key, err)
	}
	return err
}

func (b *Backend) release(ctx context.Context, g driver.Grant) error {
	known, err := run(ctx, b.client, call{releaseScript, b.recorded(b.options.encode(g.Key)), []any{
		g.Nonce.String(), g.Token.String(), micros(g.MinHold), b.options.retention.Milliseconds(), b.options.calls(), b.elsewhere(),
	}}).Bool()
	if err == nil && !known {
		return driver.ErrNotHeld
	}
	return err
}
