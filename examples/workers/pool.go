// Package workers divides work among the processes of a fleet. One process at a time works on each shard. When a
// process dies, the others work on its shards.
package workers

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/rowlock/rowlock"
)

// Work does the work of one shard. Its ctx ends when the pass ends or the shard's lock is lost.
// The ctx carries the lease for package fence.
type Work func(ctx context.Context, shard string) error

// Pass does the work of all shards that no other process is working on, with at most limit workers.
// It returns the number of shards whose work has succeeded. The first error ends the pass. If another process holds
// the lock of a shard, Pass skips that shard, which is no error. If the lock of a shard is lost during its work,
// Pass leaves the shard to the new holder.
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
