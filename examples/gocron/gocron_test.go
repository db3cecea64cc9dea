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

// process is one of several that share a store: a scheduler and a locker.
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

// Of two processes that come to the same run, one runs it, however short it is; the other is told that the lock is held.
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
	require.ErrorIs(t, <-refused, rowlock.ErrHeld)
	assert.Equal(t, int32(1), ran.Load())
}

// A task's ctx ends when its lock is lost, and with the lock's error.
func TestATaskIsToldOfALoss(t *testing.T) {
	store := memlock.New()
	s, locker := process(t, store)
	cause := make(chan error, 1)
	job := start(t, s, gocron.Task(locker, "report", func(ctx context.Context, _ *rowlock.Lease) error {
		store.Lose("report")
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return ctx.Err()
	}, rowlock.TTL(time.Second)))
	require.NoError(t, job.RunNow())
	require.ErrorIs(t, wait(t, cause), rowlock.ErrLost)
}

// One process of two leads and runs the jobs. When it ends, the other does.
func TestOneProcessLeads(t *testing.T) {
	store := memlock.New()
	type candidate struct {
		elector *gocron.Elector
		stop    func()
	}
	var all []candidate
	for range 2 {
		e := &gocron.Elector{}
		_, locker := process(t, store, upstream.WithDistributedElector(e))
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- e.Campaign(ctx, locker, "scheduler") }()
		stop := func() { cancel(); <-ended }
		t.Cleanup(cancel)
		all = append(all, candidate{e, stop})
		if len(all) == 1 {
			leads(t, e)
		}
	}
	require.ErrorIs(t, all[1].elector.IsLeader(t.Context()), gocron.ErrNoLeader)
	all[0].stop()
	require.Error(t, all[0].elector.IsLeader(t.Context()))
	leads(t, all[1].elector)
	all[1].stop()
}

func leads(t *testing.T, e *gocron.Elector) {
	t.Helper()
	require.Eventually(t, func() bool { return e.IsLeader(t.Context()) == nil }, 10*time.Second, time.Millisecond)
}

func wait[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(10 * time.Second):
		require.NoError(t, errors.New("nothing came for ten seconds"))
	}
	return v
}
