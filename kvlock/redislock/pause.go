package redislock

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

var pauseScript = redisbase.Load(files, "pause")

// Pause implements [driver.Operator]. It extends the lease to a hundred years, and gives it a new nonce, which no
// locker renews or releases. With Replicated, replicas must confirm the pause too.
func (b *Backend) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	_, err := do(ctx, b, "pause", g.Key, func(ctx context.Context) (struct{}, error) { return struct{}{}, b.pause(ctx, g, as) })
	return err
}

func (b *Backend) pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	cmd, confirmed, err := b.write(ctx, pauseScript.On([]string{b.options.prefix.Encode(g.Key)},
		g.Nonce.String(), g.Token.String(), as.String(), redisbase.Micros(driver.Endless),
	))
	if err != nil {
		return err
	}
	done, err := cmd.Bool()
	switch {
	case err != nil:
		return err
	case !done:
		return driver.ErrNotHeld
	case confirmed < b.options.replicas:
		return fmt.Errorf("%d of %d replicas confirmed the pause within %s", confirmed, b.options.replicas, b.options.replicaWait)
	}
	return nil
}
