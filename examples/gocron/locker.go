// Package gocron lets several processes share the jobs of one gocron schedule: as a Locker, as an Elector, or as a task that
// holds its own lock.
package gocron

import (
	"context"

	"github.com/go-co-op/gocron/v2"

	"github.com/rowlock/rowlock"
)

// Locker is a gocron.Locker: of all processes, one runs each run of a job. The lock's name is the job's: give each a name, by
// gocron.WithName.
//
// The options should have a MinHold of about the jobs' interval, less the time by which clocks differ. Without it a process whose
// clock is behind comes to the same run when the first one is through. gocron does not let a job know that its lock was lost: where
// that matters, use [Task].
func Locker(locker *rowlock.Locker, opts ...rowlock.Option) gocron.Locker { return &jobs{locker, opts} }

type jobs struct {
	locker *rowlock.Locker
	opts   []rowlock.Option
}

// Lock does not wait: whoever comes second has nothing to do.
func (j *jobs) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	lease, err := j.locker.TryAcquire(ctx, job, j.opts...)
	if err != nil {
		return nil, err
	}
	return held{lease}, nil
}

type held struct{ lease *rowlock.Lease }

func (h held) Unlock(ctx context.Context) error { return h.lease.Release(ctx) }

// Task is a task that runs while it holds the lock of that name, and not at all while another process does. The ctx of work ends
// when the lock is lost, and carries the lease for package fence. gocron gives it the ctx of the job.
func Task(locker *rowlock.Locker, name string, work func(ctx context.Context, lease *rowlock.Lease) error, opts ...rowlock.Option) gocron.Task {
	return gocron.NewTask(func(ctx context.Context) error { return locker.TryDo(ctx, name, work, opts...) })
}
