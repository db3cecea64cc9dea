package redislock_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// withoutChannels gives the account "locks" every right that docs/redis.md asks for, except channels.
func withoutChannels(tb testing.TB, admin *redis.Client) {
	tb.Helper()
	require.NoError(tb, admin.Do(context.Background(), "ACL", "SETUSER", "locks", "on", ">secret", "resetchannels", "~*", "+@all").Err())
}

// asLocks is a client of the account "locks" that counts its connections.
func asLocks(tb testing.TB, addr string) (*redis.Client, *atomic.Int64) {
	dialled := new(atomic.Int64)
	c := redis.NewClient(&redis.Options{
		Addr: addr, Username: "locks", Password: "secret",
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dialled.Add(1)
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	})
	tb.Cleanup(func() { _ = c.Close() })
	return c, dialled
}

// Promise 10: an account that may not SUBSCRIBE costs one attempt, and not a loop of connections. Notify says at once what is
// missing, Capabilities warns of it, waiters poll, and the right is used once it is granted.
func TestAnAccountThatMayNotSubscribePolls(t *testing.T) {
	t.Parallel()
	addr := start(t, "--appendonly", "yes", "--appendfsync", "always").Addr
	admin := connect(t, addr)
	withoutChannels(t, admin)
	c, dialled := asLocks(t, addr)
	b := redislock.New(c)
	g := acquire(t, b, request("job"))
	notify := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), atMost)
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

	waiter := lockerOn(t, b)
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
	require.Error(t, notify(), "the minute is not over")
	b.SubscribeAgain()
	require.NoError(t, notify())
	assert.Empty(t, b.Capabilities().Warnings)
}

// A right that is withdrawn while somebody waits ends the connection, and costs one attempt more. Nobody is left behind: the waiter
// polls, and is notified again after the right is back.
func TestARightToSubscribeThatIsWithdrawn(t *testing.T) {
	t.Parallel()
	addr := start(t).Addr
	admin := connect(t, addr)
	withoutChannels(t, admin)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "locks", "allchannels").Err())
	c, dialled := asLocks(t, addr)
	b := redislock.New(c)
	waiting := listen(t, b, 1)
	withoutChannels(t, admin)
	require.Eventually(t, func() bool { return b.Refused() != nil }, atMost, time.Millisecond)
	before := dialled.Load()
	ctx, cancel := context.WithTimeout(context.Background(), atMost)
	defer cancel()
	_, err := b.Notify(ctx, driver.Key{Name: "other"}, func() {})
	require.ErrorContains(t, err, "NOPERM")
	assert.Equal(t, before, dialled.Load())
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "locks", "allchannels").Err())
	b.SubscribeAgain()
	waiting[0].await(t, "of the subscription")
	other := redislock.New(admin)
	require.NoError(t, other.Release(t.Context(), acquire(t, other, request("0"))))
	waiting[0].await(t, "of a release")
}

// Redlock subscribes at a majority. Where that refuses, Notify says so at once.
func TestRedlockAccountsThatMayNotSubscribe(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	nodes := make([]*redis.Client, len(f.servers))
	var counts []*atomic.Int64
	for i, s := range f.servers {
		withoutChannels(t, f.raw[i])
		var dialled *atomic.Int64
		nodes[i], dialled = asLocks(t, s.Addr)
		counts = append(counts, dialled)
	}
	b := redislock.NewRedlock(nodes, steadily)
	t.Cleanup(func() { _ = b.Close() })
	notify := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), atMost)
		defer cancel()
		stop, err := b.Notify(ctx, driver.Key{Name: "job"}, func() {})
		if err == nil {
			stop()
		}
		return err
	}
	err := notify()
	require.ErrorContains(t, err, "SUBSCRIBE")
	assert.Equal(t, 1, strings.Count(err.Error(), "\"job\""), "%v", err)
	require.Eventually(t, func() bool { _ = notify(); return len(b.Capabilities().Warnings) == 3 }, atMost, time.Millisecond)
	before := dials(counts)
	for range 20 {
		require.Error(t, notify())
	}
	assert.Equal(t, before, dials(counts), "the refusals are remembered")
	require.NoError(t, f.raw[2].Do(t.Context(), "ACL", "SETUSER", "locks", "allchannels").Err())
	require.NoError(t, f.raw[1].Do(t.Context(), "ACL", "SETUSER", "locks", "allchannels").Err())
	b.SubscribeAgain()
	require.NoError(t, notify(), "two of three are a majority")
}

func dials(counts []*atomic.Int64) (all []int64) {
	for _, n := range counts {
		all = append(all, n.Load())
	}
	return all
}
