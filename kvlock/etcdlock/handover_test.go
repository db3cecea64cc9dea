package etcdlock_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// A hand-over between waiters of one process is two commits, the release and the next one's entry: whoever
// comes to the front of the process knows that the name is held, and goes into the queue without asking.
func TestCommitsOfAHandOver(t *testing.T) {
	t.Parallel()
	const many = 30
	ctx := context.Background()
	s := alone(t)
	client := connect(t, s.DSN)
	locker := func(opts ...rowlock.Option) *rowlock.Locker {
		l, err := rowlock.New(etcdlock.New(client), opts...)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, l.Close()) })
		return l
	}
	held, err := locker().Acquire(ctx, "a")
	require.NoError(t, err)
	waits := make(chan struct{}, many)
	waiting := locker(rowlock.Tracing(&rowlock.Trace{Waiting: func(rowlock.WaitingEvent) { waits <- struct{}{} }}))
	var group sync.WaitGroup
	for range many {
		group.Go(func() {
			lease, err := waiting.Acquire(ctx, "a")
			if assert.NoError(t, err) {
				assert.NoError(t, lease.Release(ctx))
			}
		})
	}
	for range many {
		<-waits
	}
	before := metric(t, s.DSN, commits)
	require.NoError(t, held.Release(ctx))
	group.Wait()
	got := metric(t, s.DSN, commits) - before
	t.Logf("%d hand-overs: %d commits", many, got)
	assert.InDelta(t, 2*many, got, many/5)
}
