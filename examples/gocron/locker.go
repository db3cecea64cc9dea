// Package gocron lets several processes share the jobs of one gocron schedule: with a Locker, an Elector, or a task
// that holds its own lock.
package gocron

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/rowlock/rowlock"
)

// Locker returns a gocron.Locker: each run of a job is done by one process only. The name of the lock is the name of
// the job, so name each job with gocron.WithName.
//
// The options should have a MinHold of about the jobs' interval, minus the largest difference between the processes'
// clocks. Without MinHold, a process whose clock is slow repeats the run after the first process has finished. gocron
// does not tell a job that its lock was lost. It also does not tell the lock whether the job has succeeded. If your job
// needs either, use [Task], which needs no MinHold.
func Locker(locker *rowlock.Locker, opts ...rowlock.Option) gocron.Locker { return &jobs{locker, opts} }

type jobs struct {
	locker *rowlock.Locker
	opts   []rowlock.Option
}

// Lock does not wait, because another process that holds the lock already does the run.
func (j *jobs) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	lease, err := j.locker.TryAcquire(ctx, job, j.opts...)
	if err != nil {
		return nil, err
	}
	return held{lease}, nil
}

type held struct{ lease *rowlock.Lease }

func (h held) Unlock(ctx context.Context) error { return h.lease.Release(ctx) }

// Task returns a task that does its work once for each occasion of the schedule, in the process that acquires the lock
// name first. rowlock calls such an occasion a tick, and records it when the work has succeeded. The parameter every is
// the time between two ticks, as for rowlock.TickOf. Set it to the interval of the job. The task does nothing and
// returns nil if another process holds the lock or has done the work for this tick. If the work fails, no tick is
// recorded, and the next process that runs the job does the work. The ctx of the function work ends when the lock is
// lost, and carries the lease for package fence. gocron passes the ctx of the job to the task.
func Task(locker *rowlock.Locker, name string, every time.Duration, work func(ctx context.Context, lease *rowlock.Lease) error, opts ...rowlock.Option) gocron.Task {
	opts = append(slices.Clone(opts), rowlock.Wait(0))
	return gocron.NewTask(func(ctx context.Context) error {
		err := rowlock.Once(ctx, locker, name, rowlock.TickOf(time.Now(), every), work, opts...)
		if errors.Is(err, rowlock.ErrDone) || errors.Is(err, rowlock.ErrHeld) {
			return nil
		}
		return err
	})
}
