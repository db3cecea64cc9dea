package advisory_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/contest"
)

// waitsSince returns when the present wait of a waiter began, in microseconds on the server's clock, or 0.
func (w watcher) waitsSince() int {
	return w.number("SELECT coalesce(min(extract(epoch FROM query_start) * 1000000), 0)::bigint FROM pg_stat_activity" +
		" WHERE datname = current_database() AND wait_event = 'advisory'")
}

// A waiter in the server's queue gets the lock when the holder releases it, also after more than serverWait.
// Its connection is then used for other locks too.
func TestQueue(t *testing.T) {
	eachPool(t, func(t *testing.T, open func(dsn string, opts ...advisory.Option) *advisory.Backend) {
		dsn := database(t)
		for _, opts := range [][]advisory.Option{nil, {advisory.NoToken()}} {
			w := watch(t, dsn)
			a, b := open(dsn, opts...), open(dsn, opts...)
			g := acquire(t, a, "a")
			got, failed := w.waitFor(limited(t), b, request("a"))
			first := w.waitsSince()
			w.becomes("its second wait has begun", func() bool {
				since := w.waitsSince()
				return since != 0 && since != first
			})
			require.Empty(t, got, "granted while the first holder has it")
			require.NoError(t, a.Release(limited(t), g))
			next := contest.Granted(t, got, failed)
			assert.True(t, next.Token > g.Token || opts != nil)
			second := acquire(t, b, "b")
			assert.Equal(t, 1, w.sessions(), "on the waiter's connection")
			outcomes, err := b.Renew(limited(t), []driver.Grant{next, second})
			require.NoError(t, err)
			assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, outcomes)
			require.NoError(t, b.Release(limited(t), next))
			require.NoError(t, b.Release(limited(t), second))
			assert.Zero(t, w.locks())
		}
	})
}

// If a wait is cancelled, it returns a refusal that names the holder. The backend closes the connection of the wait,
// so the server cannot grant the lock to it later.
func TestACancelledWait(t *testing.T) {
	eachPool(t, func(t *testing.T, open func(dsn string, opts ...advisory.Option) *advisory.Backend) {
		dsn := database(t)
		w := watch(t, dsn)
		a, b := open(dsn), open(dsn)
		g := acquire(t, a, "a")
		ctx, cancel := context.WithCancel(t.Context())
		_, failed := w.waitFor(ctx, b, request("a"))
		cancel()
		assert.NotEmpty(t, refusal(t, <-failed).Holder)
		w.becomes("the server has removed the waiter", func() bool { return !w.hasWaiter() })
		require.NoError(t, a.Release(limited(t), g))
		require.NoError(t, a.Release(limited(t), acquire(t, a, "a")))
	})
}

// If the server ends a wait early, by statement_timeout or because an operator cancels the statement,
// the waiter waits again and gets the lock later.
func TestAWaitThatTheServerCancels(t *testing.T) {
	eachPool(t, func(t *testing.T, open func(dsn string, opts ...advisory.Option) *advisory.Backend) {
		dsn := database(t)
		w := watch(t, dsn)
		a, b := open(dsn), open(dsn)
		g := acquire(t, a, "a")
		got, failed := w.waitFor(limited(t), b, request("a"))
		w.becomes("its statement is cancelled", func() bool {
			return w.number("SELECT count(CASE WHEN pg_cancel_backend(pid) THEN 1 END)"+here+" AND NOT granted") > 0
		})
		require.NoError(t, a.Release(limited(t), g))
		require.NoError(t, b.Release(limited(t), contest.Granted(t, got, failed)))
		assert.Zero(t, w.locks())
	})
}

// A waiter that gives up before its first wait on the server ends still gets a refusal that names the holder.
// The refusal comes from the attempt before the wait.
func TestAShortWaitNamesTheHolder(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	holds, waits := locker(t, advisory.New(openPool(t, dsn))), locker(t, advisory.New(openPool(t, dsn)))
	lease, err := holds.Acquire(t.Context(), "a")
	require.NoError(t, err)
	beside, err := waits.Acquire(t.Context(), "b") // opens the connection first, which can be slow on a loaded machine
	require.NoError(t, err)
	defer func() { require.NoError(t, beside.Release(t.Context())) }()
	_, err = waits.Acquire(t.Context(), "a", rowlock.Wait(100*time.Millisecond))
	var held *rowlock.HeldError
	require.ErrorAs(t, err, &held)
	assert.NotEmpty(t, held.Holder)
	require.NoError(t, lease.Release(t.Context()))
}

// At most half of the backend's connections are used for waiting, so that others can acquire
// and renew locks meanwhile. A waiter for which no connection is left is refused at once, and polls.
func TestWaitersAreBounded(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	w := watch(t, dsn)
	a, b := advisory.New(openPool(t, dsn)), advisory.New(openPool(t, dsn), advisory.Sessions(2))
	g := acquire(t, a, "a")
	got, failed := w.waitFor(limited(t), b, request("a"))
	_, err := contest.Wait(limited(t), b, request("a"))
	refusal(t, err)
	require.Empty(t, failed, "the waiter failed before it was cancelled")
	require.NoError(t, b.Release(limited(t), acquire(t, b, "b")))
	require.NoError(t, a.Release(limited(t), g))
	require.NoError(t, b.Release(limited(t), <-got))
}

// If the server stops answering, a waiter gives up after serverWait plus one TTL. Its error is not a refusal.
func TestAWaitForASilentServer(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	w := watch(t, dsn)
	reached, proxy, err := through(dsn)
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	a, b := advisory.New(openPool(t, dsn)), advisory.New(openPool(t, reached))
	g := acquire(t, a, "a")
	r := request("a")
	r.TTL = 5 * time.Second
	_, failed := w.waitFor(limited(t), b, r)
	proxy.Cut()
	err = <-failed
	var held *driver.Held
	require.NotErrorAs(t, err, &held)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, a.Release(limited(t), g))
}

// Eight callers acquire and release the same lock repeatedly. Each gets at least half of an equal share
// of the grants, counted from the moment when all have started.
func TestNobodyStarves(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	var lockers []*rowlock.Locker
	for range 8 {
		lockers = append(lockers, locker(t, advisory.New(openPool(t, dsn, conns(4)))))
	}
	r := contest.Run(t, lockers, 1, 400, 3*time.Minute)
	assert.GreaterOrEqual(t, r.Least(), 0.5)
}
