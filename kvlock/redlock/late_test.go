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

// Promise 1 of docs/guarantees.md: the undo of a failed attempt ends only the grant of that attempt. The undo may
// arrive after a later attempt of the same acquisition was granted the lock. The node then keeps the later grant,
// which may be needed for the majority.
func TestGivesBackTooLate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	b, proxies := f.client(t, redlock.NodeTimeout(3*time.Second))
	other, _ := f.client(t, steadily)
	require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, redistest.Request("x")))) // opens the connections
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
	const late = 15 * time.Second
	proxies[1].Delay(late)
	require.Error(t, <-failed, "one node has the lock for another request, and one does not answer")
	b.Settle()
	sent := proxies[1].Sent()

	proxies[1].Delay(0)
	require.NoError(t, f.raw[0].HSet(ctx, row, "nonce", "", "held_until", 0, "expires_at", 0).Err())
	redistest.Acquire(t, b, r)
	require.Equal(t, r.Nonce.String(), f.raw[1].HGet(ctx, row, "nonce").Val(), "the undo has arrived already: this machine is too slow for the test")
	b.Settle()
	sent, before := proxies[1].Sent(), sent
	require.Greater(t, sent, before)
	require.Eventually(t, func() bool { return proxies[1].Sent() > sent }, redistest.AtMost, time.Millisecond, "the undo arrives")
	_, err := other.Acquire(ctx, redistest.Request("x"))
	var held *driver.Held
	assert.ErrorAs(t, err, &held, "the lock was granted twice")
}

// A renewal does not copy a lease that is being released, even if the node that the renewal reads still has the lease.
// The release may already have reached the node that lacks the lease, and found nothing to end there.
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
	renew() // opens the connections and loads the script
	b.Settle()
	require.NoError(t, f.raw[2].Del(ctx, f.row("x")).Err())

	sent := proxies[0].Sent()
	proxies[0].DropReplies(1, faultproxy.Hang)
	require.ErrorIs(t, b.Release(ctx, driver.Grant{Key: g.Key, Nonce: driver.NewNonce(), Token: g.Token, TTL: g.TTL}), driver.ErrNotHeld)
	require.Eventually(t, func() bool { return proxies[0].Sent() > sent }, redistest.AtMost, time.Millisecond, "later requests wait for the reply to this one")

	proxies[0].Delay(50 * time.Millisecond) // node 0 answers after node 1, so the copy reads the lease from node 0
	proxies[2].Delay(300 * time.Millisecond)
	renew()
	_ = b.Release(ctx, g) // the result does not matter: it depends on whether the first node answers in time
	b.Settle()
	for i, node := range f.raw {
		assert.Empty(t, node.HGet(ctx, f.row("x"), "nonce").Val(), "node %d", i)
	}
}

// After the release of a lock with a minimum hold, refusals have the reason MinHold and not Leased. This holds even if
// one of three nodes has not received the release yet.
func TestReleasedIsNotHeld(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	b, proxies := f.client(t, redlock.NodeTimeout(3*time.Second))
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
