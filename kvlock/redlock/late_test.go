package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redlock"
)

// Promise 1: what an attempt that failed gives back, it gives back of itself. Should that come so late that another attempt of the same
// acquisition has been granted the lock meanwhile, the node still has it: it may be one of the two that make the majority.
func TestGivesBackTooLate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	b, proxies := f.client(t, redlock.NodeTimeout(time.Second))
	other, _ := f.client(t, steadily)
	require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, redistest.Request("x")))) // so that the connections are made
	b.Settle()

	row := f.row("x")
	require.NoError(t, f.raw[0].HSet(ctx, row, "nonce", "another", "held_until", time.Now().Add(time.Hour).UnixMicro(), "expires_at", time.Now().Add(time.Hour).UnixMicro()).Err())
	proxies[2].Cut()
	r := redistest.Request("x")
	failed := make(chan error, 1)
	go func() {
		_, err := b.Acquire(ctx, r)
		failed <- err
	}()
	require.Eventually(t, func() bool { return f.raw[1].HGet(ctx, row, "nonce").Val() == r.Nonce.String() }, redistest.AtMost, time.Millisecond)
	const late = 5 * time.Second
	proxies[1].Delay(late)
	require.Error(t, <-failed, "one node has it for another, and one does not answer")
	b.Settle()
	sent := proxies[1].Sent()

	proxies[1].Delay(0)
	require.NoError(t, f.raw[0].HSet(ctx, row, "nonce", "", "held_until", 0, "expires_at", 0).Err())
	redistest.Acquire(t, b, r)
	require.Equal(t, r.Nonce.String(), f.raw[1].HGet(ctx, row, "nonce").Val(), "it has been given back already: this machine is too slow for the test")
	b.Settle()
	sent, before := proxies[1].Sent(), sent
	require.Greater(t, sent, before)
	require.Eventually(t, func() bool { return proxies[1].Sent() > sent }, redistest.AtMost, time.Millisecond, "what was given back arrives")
	_, err := other.Acquire(ctx, redistest.Request("x"))
	var held *driver.Held
	assert.ErrorAs(t, err, &held, "two have the lock")
}

// A node is not given a lease that is being released, although the node that is asked for it has it still: its own release has been
// there before, and found nothing to end.
func TestFillsInNothingThatIsOver(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	b, proxies := f.client(t, redlock.NodeTimeout(3*time.Second))
	g := redistest.Acquire(t, b, redistest.Request("x"))
	renew := func() {
		outcomes, err := b.Renew(ctx, []driver.Grant{g})
		require.NoError(t, err)
		require.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	}
	renew() // so that the connections are made and the script is known
	b.Settle()
	require.NoError(t, f.raw[2].Del(ctx, f.row("x")).Err())

	sent := proxies[0].Sent()
	proxies[0].DropReplies(1, faultproxy.Hang)
	require.ErrorIs(t, b.Release(ctx, driver.Grant{Key: g.Key, Nonce: driver.NewNonce(), Token: g.Token, TTL: g.TTL}), driver.ErrNotHeld)
	require.Eventually(t, func() bool { return proxies[0].Sent() > sent }, redistest.AtMost, time.Millisecond, "what follows waits for the reply to that")

	proxies[0].Delay(50 * time.Millisecond) // it answers after the second, and is the one that is asked
	proxies[2].Delay(300 * time.Millisecond)
	renew()
	_ = b.Release(ctx, g) // says what the first node says, if that comes in time
	b.Settle()
	for i, node := range f.raw {
		assert.Empty(t, node.HGet(ctx, f.row("x"), "nonce").Val(), "node %d", i)
	}
}

// A lock that was released is closed by its minimum hold and not held, though one of three nodes has yet to hear of the release.
func TestReleasedIsNotHeld(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	b, proxies := f.client(t, redlock.NodeTimeout(time.Second))
	other, _ := f.client(t, steadily)
	r := redistest.Request("x")
	r.TTL, r.MinHold = time.Minute, 30*time.Second
	g := redistest.Acquire(t, b, r)
	b.Settle()
	proxies[2].Cut()
	require.NoError(t, b.Release(ctx, g))
	for range 50 {
		_, err := other.Acquire(ctx, redistest.Request("x"))
		var held *driver.Held
		require.ErrorAs(t, err, &held)
		require.Equal(t, driver.MinHold, held.Reason)
		require.LessOrEqual(t, held.ExpiresIn, r.MinHold)
	}
}
