// Package cron lets several processes share one schedule of robfig/cron: one process does each run of a job.
package cron

import (
	"context"
	"errors"
	"log/slog"

	"github.com/robfig/cron/v3"

	"github.com/rowlock/rowlock"
)

// Job returns a job that does its work while it holds the lock name. If another process holds the lock,
// the job does nothing. The ctx of work ends when ctx ends or the lock is lost, and carries the lease for package
// fence.
//
// The options should have a MinHold of about the schedule's interval, minus the difference between the processes'
// clocks. Without MinHold, a process whose clock is slow repeats the run after the first process has finished.
//
// cron cannot return a job's error, so Job logs it. If another process holds the lock, Job logs that at level Debug.
func Job(ctx context.Context, locker *rowlock.Locker, name string, log *slog.Logger, work func(ctx context.Context, lease *rowlock.Lease) error, opts ...rowlock.Option) cron.Job {
	return cron.FuncJob(func() {
		err := locker.TryDo(ctx, name, work, opts...)
		switch {
		case errors.Is(err, rowlock.ErrHeld):
			log.DebugContext(ctx, "another process runs it", "job", name, "held", err)
		case err != nil:
			log.ErrorContext(ctx, "job failed", "job", name, "error", err)
		}
	})
}
