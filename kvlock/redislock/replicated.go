package redislock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// write makes one call, and returns how many replicas have confirmed it, if Replicated is set.
func (b *Backend) write(ctx context.Context, what redisbase.Call) (cmd *redis.Cmd, confirmed int, err error) {
	if b.options.replicas == 0 {
		return redisbase.Run(ctx, b.client, what), 0, nil
	}
	primary, err := b.primary(ctx, what.Keys[0])
	if err != nil {
		return nil, 0, err
	}
	cmds, confirmed, err := b.writeAll(ctx, primary, []redisbase.Call{what})
	if err != nil {
		return nil, 0, err
	}
	return cmds[0], confirmed, nil
}

// writeAll makes all calls in one round trip to one server. A WAIT follows on the same connection, because WAIT applies
// to the writes of its own connection. Each call has its own outcome. The returned error is the error of the WAIT.
//
// On a Cluster, while a slot is moving to a second server, writeAll sends its calls only to the first server. The
// outcome for a lock that has already moved is unknown until the move of the slot is complete.
func (b *Backend) writeAll(ctx context.Context, primary *redis.Client, calls []redisbase.Call) ([]*redis.Cmd, int, error) {
	cmds, confirmed, err := b.send(ctx, primary, calls, false)
	if slices.ContainsFunc(cmds, func(cmd *redis.Cmd) bool { return redisbase.IsNoScript(cmd.Err()) }) {
		cmds, confirmed, err = b.send(ctx, primary, calls, true)
	}
	if c, ok := b.client.(*redis.ClusterClient); ok && slices.ContainsFunc(cmds, func(cmd *redis.Cmd) bool { return redisbase.Says(cmd.Err(), "MOVED") }) {
		c.ReloadState(ctx) // the next attempt uses the right server
	}
	return cmds, confirmed, err
}

func (b *Backend) send(ctx context.Context, primary *redis.Client, calls []redisbase.Call, text bool) (cmds []*redis.Cmd, confirmed int, err error) {
	cmds = make([]*redis.Cmd, len(calls))
	var wait *redis.Cmd
	_, _ = primary.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, what := range calls {
			cmds[i] = what.Send(ctx, p, text)
		}
		wait = p.Do(ctx, "WAIT", b.options.replicas, b.options.replicaWait.Milliseconds())
		return nil
	})
	confirmed, err = wait.Int()
	return cmds, confirmed, err
}

// primary returns a client of the server that has key.
func (b *Backend) primary(ctx context.Context, key string) (*redis.Client, error) {
	if c, ok := b.client.(*redis.ClusterClient); ok {
		return c.MasterForKey(ctx, key)
	}
	return b.client.(*redis.Client), nil // the type was checked by the method validate
}

// unconfirmed releases a grant that too few replicas have confirmed, and returns the error for the caller.
func (b *Backend) unconfirmed(ctx context.Context, g driver.Grant, confirmed int) error {
	err := fmt.Errorf("%d of %d replicas confirmed the grant within %s", confirmed, b.options.replicas, b.options.replicaWait)
	g.Done = "" // a release that records a tick would need the replicas again
	switch released := b.release(ctx, g); {
	case released == nil || errors.Is(released, driver.ErrNotHeld):
		return driver.NotApplied(fmt.Errorf("%w; the grant was released", err))
	default:
		return fmt.Errorf("%w; releasing the grant failed: %w", err, released)
	}
}
