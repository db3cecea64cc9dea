package gocron_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	upstream "github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/examples/gocron"
	"github.com/rowlock/rowlock/memlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// process returns a scheduler and a locker, for one of several processes that share a store.
func process(t *testing.T, store *memlock.Backend, opts ...upstream.SchedulerOption) (upstream.Scheduler, *rowlock.Locker) {
	t.Helper()
	locker, err := rowlock.New(store)
	require.NoError(t, err)
	scheduler, err := upstream.NewScheduler(append(opts, upstream.WithStopTimeout(10*time.Second))...)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, scheduler.Shutdown())
		assert.NoError(t, locker.Close())
	})
	return scheduler, locker
}

func start(t *testing.T, s upstream.Scheduler, task upstream.Task, opts ...upstream.JobOption) upstream.Job {
	t.Helper()
	job, err := s.NewJob(upstream.DurationJob(time.Hour), task, append(opts, upstream.WithName("report"))...)
	require.NoError(t, err)
	s.Start()
	return job
}

// Two processes start the same run of a job. One process does the run, however short the run is.
// The other process gets the error that the lock is held.
func TestOneProcessRunsAJob(t *testing.T) {
	store := memlock.New()
	var ran atomic.Int32
	refused := make(chan error, 1)
	for range 2 {
		locker, err := rowlock.New(store)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, locker.Close()) })
		s, err := upstream.NewScheduler(upstream.WithDistributedLocker(gocron.Locker(locker, rowlock.MinHold(time.Minute))))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, s.Shutdown()) })
		done := make(chan struct{}, 1)
		job := start(t, s, upstream.NewTask(func() { ran.Add(1) }), upstream.WithEventListeners(
			upstream.AfterLockError(func(_ uuid.UUID, _ string, err error) { refused <- err; done <- struct{}{} }),
			upstream.AfterJobRuns(func(uuid.UUID, string) { done <- struct{}{} }),
		))
		require.NoError(t, job.RunNow())
		wait(t, done)
	}
	require.ErrorIs(t, wait(t, refused), rowlock.ErrHeld)
	assert.Equal(t, int32(1), ran.Load())
}

// Two processes start the same run of a task, one after the other. The first process whose work succeeds does the run.
func TestATaskRunsOncePerTick(t *testing.T) {
	store := memlock.New()
	var ran atomic.Int32
	for range 3 {
		s, locker := process(t, store)
		done := make(chan error, 1)
		job := start(t, s, gocron.Task(locker, "report", 24*365*time.Hour, func(context.Context, *rowlock.Lease) error {
			if ran.Add(1) == 1 {
				return errors.New("broken")
			}
			return nil
		}), upstream.WithEventListeners(
			upstream.AfterJobRuns(func(uuid.UUID, string) { done <- nil }),
			upstream.AfterJobRunsWithError(func(_ uuid.UUID, _ string, err error) { done <- err }),
		))
		require.NoError(t, job.RunNow())
		wait(t, done)
	}
	assert.Equal(t, int32(2), ran.Load(), "the first run failed, the second succeeded, and the third did nothing")
}

// When the lock of a task is lost, the task's ctx ends, and its cause is the loss.
func TestATaskIsToldOfALoss(t *testing.T) {
	store := memlock.New()
	s, locker := process(t, store)
	cause := make(chan error, 1)
	job := start(t, s, gocron.Task(locker, "report", time.Hour, func(ctx context.Context, _ *rowlock.Lease) error {
		store.Lose("report")
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return ctx.Err()
	}, rowlock.TTL(time.Second)))
	require.NoError(t, job.RunNow())
	require.ErrorIs(t, wait(t, cause), rowlock.ErrLost)
}

// told is a gocron.Monitor that receives the status of each run, including skipped runs.
type told chan upstream.JobStatus

func (c told) IncrementJob(_ uuid.UUID, _ string, _ []string, status upstream.JobStatus) { c <- status }
func (c told) RecordJobTiming(_, _ time.Time, _ uuid.UUID, _ string, _ []string)         {}

// One of two processes leads and runs the jobs. The other process skips all jobs until the first process ends.
func TestOneProcessLeads(t *testing.T) {
	store := memlock.New()
	type candidate struct {
		elector *gocron.Elector
		job     upstream.Job
		told    told
		stop    func()
	}
	var all []candidate
	for i := range 2 {
		e, monitor := &gocron.Elector{}, make(told, 1)
		s, locker := process(t, store, upstream.WithDistributedElector(e), upstream.WithMonitor(monitor))
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- e.Campaign(ctx, locker, "scheduler") }()
		t.Cleanup(cancel)
		all = append(all, candidate{e, start(t, s, upstream.NewTask(func() {})), monitor, func() { cancel(); <-ended }})
		if i == 0 {
			leads(t, e)
		}
	}
	status := func(c candidate) upstream.JobStatus {
		require.NoError(t, c.job.RunNow())
		return wait(t, c.told)
	}
	require.ErrorIs(t, all[1].elector.IsLeader(t.Context()), gocron.ErrNoLeader)
	assert.Equal(t, upstream.Success, status(all[0]))
	assert.Equal(t, upstream.Skip, status(all[1]))
	all[0].stop()
	leads(t, all[1].elector)
	assert.Equal(t, upstream.Skip, status(all[0]))
	assert.Equal(t, upstream.Success, status(all[1]))
	all[1].stop()
}

func leads(t *testing.T, e *gocron.Elector) {
	t.Helper()
	require.Eventually(t, func() bool { return e.IsLeader(t.Context()) == nil }, 10*time.Second, time.Millisecond)
}

func wait[T any, C ~chan T](t *testing.T, c C) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(10 * time.Second):
		require.NoError(t, errors.New("no job ran for ten seconds"))
	}
	return v
}
