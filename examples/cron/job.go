// Package cron lets several processes share one schedule of robfig/cron: one process does each run of a job.
package cron

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/rowlock/rowlock"
)

// Job returns a job that does its work once for each occasion of the schedule, in the process that acquires the lock
// name first. rowlock calls such an occasion a tick, and records it when the work has succeeded. The parameter every is
// the time between two ticks, as for rowlock.TickOf. Set it to the interval of the schedule. If another process holds
// the lock or has done the work for this tick, the job does nothing. So a process whose clock is slow does not repeat a
// run. If the work fails, no tick is recorded, and the next process that runs the job does the work. The ctx of the
// function work ends when ctx ends or the lock is lost, and carries the lease for package fence.
//
// cron cannot return a job's error, so Job logs it. A run that another process does or has done is logged at level
// Debug.
func Job(ctx context.Context, locker *rowlock.Locker, name string, every time.Duration, log *slog.Logger, work func(ctx context.Context, lease *rowlock.Lease) error, opts ...rowlock.Option) cron.Job {
	opts = append(slices.Clone(opts), rowlock.Wait(0))
	return cron.FuncJob(func() {
		err := rowlock.Once(ctx, locker, name, rowlock.TickOf(time.Now(), every), work, opts...)
		switch {
		case errors.Is(err, rowlock.ErrDone), errors.Is(err, rowlock.ErrHeld):
			log.DebugContext(ctx, "another process runs it", "job", name, "reason", err)
		case err != nil:
			log.ErrorContext(ctx, "job failed", "job", name, "error", err)
		}
	})
}
