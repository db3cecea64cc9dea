package advisory_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/contest"
)

// A wait may time out at the moment when the lock is granted. PostgreSQL then answers with error 55P03,
// although the session has the lock. The waiter must notice this, so that the lock is free after every holder has
// released it.
func TestAWaitThatEndsAsItIsGranted(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	w := watch(t, server.DSN)
	holds, waits := advisory.New(openPool(t, server.DSN), advisory.NoToken()), advisory.New(openPool(t, server.DSN), advisory.NoToken())
	g := acquire(t, holds, "a")
	got, failed := w.waitFor(limited(t), waits, request("a"))
	stopped := 0 // the id of the waiter's server process, which the test suspends until its wait has timed out
	w.becomes("the waiter is suspended", func() bool {
		stopped = w.number("SELECT coalesce(min(pid), 0)" + here + " AND NOT granted")
		if stopped == 0 {
			return false
		}
		require.NoError(t, syscall.Kill(stopped, syscall.SIGSTOP))
		if w.hasWaiter() {
			return true
		}
		require.NoError(t, syscall.Kill(stopped, syscall.SIGCONT)) // the process was suspended between two waits: resume it and try again
		return false
	})
	t.Cleanup(func() { _ = syscall.Kill(stopped, syscall.SIGCONT) })
	over := time.Now().Add(time.Second)
	require.NoError(t, holds.Release(limited(t), g))
	w.becomes("its wait is over, by the time", func() bool { return time.Now().After(over) })
	require.NoError(t, syscall.Kill(stopped, syscall.SIGCONT))
	select {
	case g := <-got:
		require.NoError(t, waits.Release(limited(t), g))
	case err := <-failed:
		assert.True(t, driver.IsNotApplied(err), "%v", err)
	}
	w.becomes("the lock is free", func() bool { return w.locks() == 0 })
	got, failed = contest.Queue(limited(t), holds, request("a"))
	require.NoError(t, holds.Release(limited(t), contest.Granted(t, got, failed)))
}
