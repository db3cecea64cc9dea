package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// Promise 10 of docs/guarantees.md: if the account may not SUBSCRIBE, the backend makes one attempt, and does not
// reconnect in a loop. Notify returns an error that names the missing right, Capabilities has a warning, and waiters
// poll. After the account has been given the right, waiters are notified.
func TestAnAccountThatMayNotSubscribePolls(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always").Addr
	admin := redistest.Connect(t, addr)
	redistest.WithoutChannels(t, admin)
	c, dialled := redistest.AsLocks(t, addr)
	b := redislock.New(c)
	g := redistest.Acquire(t, b, redistest.Request("job"))
	notify := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), redistest.AtMost)
		defer cancel()
		stop, err := b.Notify(ctx, driver.Key{Name: "job"}, func() {})
		if err == nil {
			stop()
		}
		return err
	}
	require.ErrorContains(t, notify(), "SUBSCRIBE")
	before := dialled.Load()
	for range 100 {
		err := notify()
		require.ErrorContains(t, err, "NOPERM")
		assert.True(t, driver.IsPermanent(err))
	}
	assert.Equal(t, before, dialled.Load(), "the refusal is remembered")
	if w := b.Capabilities().Warnings; assert.Len(t, w, 1) {
		assert.Contains(t, w[0], "poll")
	}

	waiter := redistest.LockerOn(t, b)
	waited := make(chan error, 1)
	go func() {
		lease, err := waiter.Acquire(context.Background(), "job")
		if err == nil {
			err = lease.Release(context.Background())
		}
		waited <- err
	}()
	require.NoError(t, b.Release(t.Context(), g))
	require.NoError(t, <-waited)

	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "locks", "allchannels").Err())
	require.Error(t, notify(), "the refusal is remembered for a minute")
	b.SubscribeAgain()
	require.NoError(t, notify())
	assert.Empty(t, b.Capabilities().Warnings)
}

// If the account may not PUBLISH, a release does not notify the waiter, and does not reserve the lock. The waiter keeps
// its place in the queue.
func TestAnAccountThatMayNotPublishReleases(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t).Addr
	admin := redistest.Connect(t, addr)
	redistest.WithoutChannels(t, admin)
	c, _ := redistest.AsLocks(t, addr)
	b := redislock.New(c)
	g := redistest.Acquire(t, b, redistest.Request("job"))
	waiter := line(t, 1, opener(t, addr))[0]
	require.NoError(t, b.Release(t.Context(), g))
	assert.Equal(t, []string{waiter.Waiter()}, waiters(t, admin))
	require.NoError(t, b.Release(t.Context(), redistest.Acquire(t, b, redistest.Request("job"))))
	require.NoError(t, waiter.Release(t.Context(), waiter.take(t)))
	assert.Empty(t, waiters(t, admin))
}

// If the right to SUBSCRIBE is revoked during a wait, the connection ends, and the backend makes one more attempt. The
// waiter polls. It is notified again after the right has been restored.
func TestARightToSubscribeThatIsWithdrawn(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t).Addr
	admin := redistest.Connect(t, addr)
	redistest.WithoutChannels(t, admin)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "locks", "allchannels").Err())
	c, dialled := redistest.AsLocks(t, addr)
	b := redislock.New(c)
	waiting := listen(t, b, 1)
	redistest.WithoutChannels(t, admin)
	require.Eventually(t, func() bool { return b.Refused() != nil }, redistest.AtMost, time.Millisecond)
	before := dialled.Load()
	ctx, cancel := context.WithTimeout(context.Background(), redistest.AtMost)
	defer cancel()
	_, err := b.Notify(ctx, driver.Key{Name: "other"}, func() {})
	require.ErrorContains(t, err, "NOPERM")
	assert.Equal(t, before, dialled.Load())
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "locks", "allchannels").Err())
	b.SubscribeAgain()
	waiting[0].await(t, "of the subscription")
	other := redislock.New(admin)
	require.NoError(t, other.Release(t.Context(), redistest.Acquire(t, other, redistest.Request("0"))))
	waiting[0].await(t, "of a release")
}
