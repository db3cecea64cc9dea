// Package workers divides work among the processes of a fleet: each shard is one process's at a time, and a process that dies
// leaves its shards to the others.
package workers

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/rowlock/rowlock"
)

// Work does one shard's work. Its ctx ends with the pass, and when the shard's lock is lost; it carries the lease for package fence.
type Work func(ctx context.Context, shard string) error

// Pass goes through all shards with as many workers as limit, and does the work of those that no other process is at. It returns
// how many those were. The first error ends the pass; that another process has a shard is none, and a shard that is lost on the
// way is left to whoever has it.
func Pass(ctx context.Context, locker *rowlock.Locker, limit int, shards []string, work Work) (done int, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	mine := make([]bool, len(shards))
	for i, shard := range shards {
		group.Go(func() error {
			err := locker.TryDo(ctx, "shard "+shard, func(ctx context.Context, _ *rowlock.Lease) error {
				return work(ctx, shard)
			})
			mine[i] = err == nil
			if errors.Is(err, rowlock.ErrHeld) || errors.Is(err, rowlock.ErrLost) {
				return nil
			}
			return err
		})
	}
	err = group.Wait()
	for _, m := range mine {
		if m {
			done++
		}
	}
	return done, err
}
