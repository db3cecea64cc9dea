package redislock

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Release implements [driver.Backend]. With Replicated, replicas must confirm the tick that it records.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	_, err := do(ctx, b, "release", g.Key, func(ctx context.Context) (struct{}, error) { return struct{}{}, b.release(ctx, g) })
	return err
}

func (b *Backend) release(ctx context.Context, g driver.Grant) error {
	what := b.end(g)
	if g.Done == "" {
		return released(redisbase.Run(ctx, b.client, what))
	}
	cmd, confirmed, err := b.write(ctx, what)
	if err == nil {
		err = released(cmd)
	}
	if err == nil && confirmed < b.options.replicas {
		err = fmt.Errorf("%d of %d replicas confirmed the tick within %s", confirmed, b.options.replicas, b.options.replicaWait)
	}
	return err
}

// end returns the call that releases g.
func (b *Backend) end(g driver.Grant) redisbase.Call {
	return releaseScript.On(b.recorded(b.options.prefix.Encode(g.Key)),
		g.Nonce.String(), g.Token.String(), redisbase.Micros(g.MinHold), b.options.retention.Milliseconds(), b.options.prefix.Waiters(), b.elsewhere(), g.Done,
	)
}

// released decodes the reply to a release.
func released(cmd *redis.Cmd) error {
	known, err := cmd.Bool()
	if err == nil && !known {
		return driver.ErrNotHeld
	}
	return err
}
