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
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
)

// A wait may be over and the lock be granted in the same moment: then Postgres answers that it was not to be had
// (55P03), and the session has it all the same. Whoever waits notices, and nobody has the lock when all have released it.
func TestAWaitThatEndsAsItIsGranted(t *testing.T) {
	t.Parallel()
	testenv.DSN(t, testenv.EnginePostgres) // the programs are there
	server, err := testserver.Start(t.Context(), testserver.Postgres, testserver.Options{})
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	w := watch(t, server.DSN)
	holds, waits := advisory.New(openPool(t, server.DSN), advisory.NoToken()), advisory.New(openPool(t, server.DSN), advisory.NoToken())
	g := acquire(t, holds, "a")
	got, failed := w.waitFor(limited(t), waits, request("a"))
	stopped := 0 // in the middle of its wait, which is over while it stands still
	w.becomes("the waiter stands still", func() bool {
		stopped = w.number("SELECT coalesce(min(pid), 0)" + here + " AND NOT granted")
		if stopped == 0 {
			return false
		}
		require.NoError(t, syscall.Kill(stopped, syscall.SIGSTOP))
		if w.hasWaiter() {
			return true
		}
		require.NoError(t, syscall.Kill(stopped, syscall.SIGCONT)) // it was between two waits
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
	w.becomes("nobody has it", func() bool { return w.locks() == 0 })
	got, failed = contest.Queue(limited(t), holds, request("a"))
	require.NoError(t, holds.Release(limited(t), contest.Granted(t, got, failed)))
}
