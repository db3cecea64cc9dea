package redislock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
)

// write makes one call, and says how many replicas have confirmed it, if that is asked for.
func (b *Backend) write(ctx context.Context, what call) (cmd *redis.Cmd, confirmed int, err error) {
	if b.options.replicas == 0 {
		return run(ctx, b.client, what), 0, nil
	}
	primary, err := b.primary(ctx, what.keys[0])
	if err != nil {
		return nil, 0, err
	}
	cmds, confirmed, err := b.writeAll(ctx, primary, []call{what})
	if err != nil {
		return nil, 0, err
	}
	return cmds[0], confirmed, nil
}

// writeAll makes calls in one trip to one server, with a WAIT behind them on the same connection: WAIT is about
// what its own connection has written.
func (b *Backend) writeAll(ctx context.Context, primary *redis.Client, calls []call) (cmds []*redis.Cmd, confirmed int, err error) {
	send := func(text bool) error {
		cmds = make([]*redis.Cmd, len(calls))
		var wait *redis.Cmd
		_, err := primary.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, what := range calls {
				if text {
					cmds[i] = p.Eval(ctx, what.script.text, what.keys, what.args...)
				} else {
					cmds[i] = p.EvalSha(ctx, what.script.digest, what.keys, what.args...)
				}
			}
			wait = p.Do(ctx, "WAIT", b.options.replicas, b.options.replicaWait.Milliseconds())
			return nil
		})
		if n, waitErr := wait.Int(); waitErr == nil {
			confirmed = n
		}
		return err
	}
	err = send(false)
	if isNoScript(err) {
		err = send(true)
	}
	var said redis.Error
	if errors.As(err, &said) && strings.HasPrefix(said.Error(), "MOVED") {
		if c, ok := b.client.(*redis.ClusterClient); ok {
			c.ReloadState(ctx)
			return nil, 0, driver.NotApplied(fmt.Errorf("the slot has moved to another server: %s", said.Error()))
		}
	}
	return cmds, confirmed, err
}

// primary is the server that has key.
func (b *Backend) primary(ctx context.Context, key string) (*redis.Client, error) {
	if c, ok := b.client.(*redis.ClusterClient); ok {
		return c.MasterForKey(ctx, key)
	}
	return b.client.(*redis.Client), nil // Validate was here
}

// unconfirmed gives back a grant that too few replicas have.
func (b *Backend) unconfirmed(ctx context.Context, g driver.Grant, confirmed int) error {
	err := fmt.Errorf("%d of %d replicas confirmed the grant within %s", confirmed, b.options.replicas, b.options.replicaWait)
	switch released := b.release(ctx, g); {
	case released == nil || errors.Is(released, driver.ErrNotHeld):
		return driver.NotApplied(fmt.Errorf("%w; it is released again", err))
	default:
		return fmt.Errorf("%w; release it: %w", err, released)
	}
}
