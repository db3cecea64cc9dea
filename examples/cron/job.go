// Package cron lets several processes share one schedule of robfig/cron: each run of a job is one process's.
package cron

import (
	"context"
	"errors"
	"log/slog"

	"github.com/robfig/cron/v3"

	"github.com/rowlock/rowlock"
)

// Job is a job that does its work while it holds the lock of that name, and nothing while another process does. The ctx of work
// ends with ctx and when the lock is lost, and carries the lease for package fence.
//
// The options should have a MinHold of about the schedule's interval, less the time by which the processes' clocks differ. Without
// it a process whose clock is behind comes to the same run when the first one is through.
//
// cron has no place for a job's error: it is logged, and that another process was first is not an error.
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
