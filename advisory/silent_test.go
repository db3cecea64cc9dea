package advisory_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/contest"
	"github.com/rowlock/rowlock/internal/faultproxy"
)

// A waiter without a connection of its own makes its attempt on a connection that holds other locks.
// If the server does not answer, the waiter gives up after one TTL, even if its context allows more.
// The lock that the server may have granted then becomes free.
func TestAnAskOfAWaiterThatHasNoAnswer(t *testing.T) {
	t.Parallel()
	const ttl = 1250 * time.Millisecond // is not a multiple of 500 ms, the length of one wait on the server, so no wait ends at the moment of the grant
	dsn := database(t)
	reached, proxy, err := through(dsn)
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	a, b := advisory.New(openPool(t, dsn)), advisory.New(openPool(t, reached), advisory.Sessions(1))
	other := request("x")
	other.TTL = ttl
	_, err = b.Acquire(t.Context(), other)
	require.NoError(t, err)

	long, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	proxy.DropReplies(1, faultproxy.Hang)
	r := request("a")
	r.TTL, r.Waiting = ttl, true // r is the repeated request of a waiter, not its first attempt
	_, failed := contest.Queue(long, b, r)
	select {
	case err := <-failed:
		require.Error(t, err)
	case <-time.After(30 * time.Second):
		require.FailNow(t, "it waited longer than a TTL for an answer")
	}
	// The wait may time out at the moment of the grant. Then its outcome is unknown, and the engine repeats the request.
	again, ctx := request("a"), limited(t)
	got, err := contest.Wait(ctx, a, again)
	for err != nil && ctx.Err() == nil && !errors.As(err, new(*driver.Held)) {
		got, err = contest.Wait(ctx, a, again)
	}
	require.NoError(t, err)
	require.NoError(t, a.Release(limited(t), got))
}

// If the server ends the session of a wait, Await returns the server's error. It does not return the error
// of the context that limited the first attempt.
func TestAWaitThatIsEndedDoesNotBlameTheTry(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	w := watch(t, dsn)
	a, b := advisory.New(openPool(t, dsn)), advisory.New(openPool(t, dsn))
	g := acquire(t, a, "a")
	try, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := b.Await(try, request("a"), func(*driver.Held) context.Context { return limited(t) })
		failed <- err
	}()
	w.becomes("the server has a waiter", w.hasWaiter)
	cancel()
	require.EqualValues(t, 1, w.number("SELECT count(pg_terminate_backend(pid))"+here+" AND NOT granted"))
	err := <-failed
	require.Error(t, err)
	assert.NotErrorIs(t, err, context.Canceled)
	require.NoError(t, a.Release(limited(t), g))
}
