package etcdlock_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// Acquiring and releasing a contended lock costs two commits, as for a free lock: one for the waiter's entry, and one
// for its release. This holds for waiters of one process and of many.
func TestCommitsOfAHandOver(t *testing.T) {
	t.Parallel()
	const many = 30
	for _, processes := range []int{1, 5, many} {
		t.Run(fmt.Sprint(processes), func(t *testing.T) {
			t.Parallel()
			s := counted(t)
			client := connect(t, s.DSN)
			waits := make(chan struct{}, many)
			trace := rowlock.Tracing(&rowlock.Trace{Waiting: func(rowlock.WaitingEvent) { waits <- struct{}{} }})
			lockers := make([]*rowlock.Locker, processes)
			for i := range lockers {
				lockers[i] = lockerOn(t, etcdlock.New(client), trace)
				lease, err := lockers[i].Acquire(t.Context(), "makes the session")
				require.NoError(t, err)
				require.NoError(t, lease.Release(t.Context()))
			}
			require.Eventually(t, func() bool { return metric(t, s.DSN, watches) == processes }, 20*time.Second, 10*time.Millisecond, "the sessions are watched")
			before := metric(t, s.DSN, commits)
			held, err := lockers[0].Acquire(t.Context(), "a")
			require.NoError(t, err)
			var group sync.WaitGroup
			for i := range many {
				group.Go(func() {
					lease, err := lockers[i%processes].Acquire(t.Context(), "a")
					if assert.NoError(t, err) {
						assert.NoError(t, lease.Release(t.Context()))
					}
				})
			}
			for range many {
				<-waits
			}
			require.NoError(t, held.Release(t.Context()))
			group.Wait()
			got := metric(t, s.DSN, commits) - before
			t.Logf("%d locks, all but one contended: %d commits", many+1, got)
			assert.InDelta(t, 2*(many+1), got, 3)
		})
	}
}
