package redlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
)

// If one node of three hangs, a call waits for this node until NodeTimeout at most, even if the timeouts of the node's
// client are longer. This holds for a backend that has used the node before, and for a backend that was opened later.
func TestOneNodeHangs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	old, oldProxies := f.client(t, shortly)
	g, err := old.Acquire(ctx, redistest.Request("before"))
	require.NoError(t, err)
	young, youngProxies := f.client(t, shortly)
	oldProxies[1].Cut()
	youngProxies[1].Cut()
	renewed, err := old.Renew(ctx, []driver.Grant{g})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed}, renewed)
	for name, b := range map[string]driver.Backend{"old": old, "young": young} {
		var slowest [2]time.Duration
		first := time.Now()
		for range 20 {
			began := time.Now()
			g, err := b.Acquire(ctx, redistest.Request(name))
			require.NoError(t, err)
			acquired := time.Now()
			require.NoError(t, b.Release(ctx, g))
			slowest[0], slowest[1] = max(slowest[0], acquired.Sub(began)), max(slowest[1], time.Since(acquired))
		}
		t.Logf("%s client: the slowest of 20: acquire %s, release %s", name, slowest[0], slowest[1])
		assert.Less(t, time.Since(first), time.Minute, "with the client's own timeouts of 5 s, the calls would take 200 s")
	}
	began := time.Now()
	require.NoError(t, young.Close())
	assert.Less(t, time.Since(began), patience, "background requests to the node that hangs are bounded")
}

// If two nodes of three hang, Acquire fails with ErrUnavailable, even if the third node says that the lock is held. A
// renewal's outcome is unknown, and trust ends before the lock can be granted again. A release that reaches only one
// node fails.
func TestTwoNodesHang(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	a, proxies := f.client(t, shortly)
	b, _ := f.client(t, steadily)
	mine, theirs := redistest.LockerOn(t, a, rowlock.TTL(2*time.Second)), redistest.LockerOn(t, b)
	lease, err := mine.Acquire(ctx, "x")
	require.NoError(t, err)
	ended := make(chan time.Time, 1)
	go func() {
		<-lease.Context().Done()
		ended <- time.Now()
	}()
	kept, released := redistest.Acquire(t, a, redistest.Request("kept")), redistest.Acquire(t, a, redistest.Request("released"))
	_, err = theirs.Acquire(ctx, "z")
	require.NoError(t, err)
	b.Settle()
	for _, p := range proxies[:2] {
		p.Cut()
	}
	var calls sync.WaitGroup // each call waits for the nodes that hang
	calls.Go(func() {
		_, err := a.Renew(ctx, []driver.Grant{kept})
		assert.ErrorContains(t, err, "2")
	})
	calls.Go(func() {
		err := a.Release(ctx, released)
		assert.ErrorContains(t, err, "1 of 3 nodes released the lock")
		assert.NotErrorIs(t, err, driver.ErrNotHeld)
	})
	calls.Go(func() {
		began := time.Now()
		_, err := mine.TryAcquire(ctx, "z")
		assert.ErrorIs(t, err, rowlock.ErrUnavailable)
		assert.NotErrorIs(t, err, rowlock.ErrHeld)
		t.Logf("unavailable after %s", time.Since(began))
	})
	calls.Wait()

	next, err := theirs.Acquire(ctx, "x")
	had := time.Now()
	require.NoError(t, err)
	require.ErrorIs(t, lease.Err(), rowlock.ErrLost, "the first lease is still trusted after the second grant")
	margin := had.Sub(faultnet.Earlier(<-ended, lease.ExpiresAt()))
	t.Logf("the holder's context ended %s before the next grant", margin)
	assert.GreaterOrEqual(t, margin, time.Duration(0))
	assert.Greater(t, next.Token(), lease.Token())
	require.NoError(t, next.Release(ctx))
}

// A holder that is cut off from all nodes stops trusting its lease before the lock can be granted again.
func TestTrustEndsFirst(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	a, proxies := f.client(t, shortly)
	b, _ := f.client(t, steadily)
	lease, err := redistest.LockerOn(t, a, rowlock.TTL(2*time.Second)).Acquire(ctx, "x")
	require.NoError(t, err)
	ended := make(chan time.Time, 1)
	go func() {
		<-lease.Context().Done()
		ended <- time.Now()
	}()
	for _, p := range proxies {
		p.Cut()
	}
	next, err := redistest.LockerOn(t, b).Acquire(ctx, "x")
	had := time.Now()
	require.NoError(t, err)
	require.Error(t, lease.Err(), "the first lease is still trusted after the second grant")
	margin := had.Sub(faultnet.Earlier(<-ended, lease.ExpiresAt()))
	t.Logf("the holder's context ended %s before the next grant", margin)
	assert.GreaterOrEqual(t, margin, time.Duration(0))
	assert.Greater(t, next.Token(), lease.Token())
}

// If the replies of a majority are lost, the outcome of a call is unknown. A retry returns the outcome of the first
// request.
func TestRepliesLost(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	a, proxies := f.client(t, shortly)
	b, _ := f.client(t, steadily)
	for range 2 { // in the second round, the connections are already open
		g, err := a.Acquire(ctx, redistest.Request("warm"))
		require.NoError(t, err)
		require.NoError(t, a.Release(ctx, g))
		a.Settle()
	}
	lose := func(call func() error) {
		t.Helper()
		a.Settle()
		for _, p := range proxies[:2] {
			p.DropReplies(1, faultproxy.Hang)
		}
		err := call()
		require.Error(t, err)
		var held *driver.Held
		assert.False(t, errors.As(err, &held) || errors.Is(err, driver.ErrNotHeld) || driver.IsNotApplied(err), "%v", err)
		a.Settle()
	}
	r := redistest.Request("x")
	var g driver.Grant
	var err error
	lose(func() error { _, err := a.Acquire(ctx, r); return err })
	require.Eventually(t, func() bool { g, err = a.Acquire(ctx, r); return err == nil }, patience, time.Millisecond)
	var held *driver.Held
	_, err = b.Acquire(ctx, redistest.Request("x"))
	require.ErrorAs(t, err, &held)
	assert.Equal(t, g.Token, held.Token)

	lose(func() error { _, err := a.Renew(ctx, []driver.Grant{g}); return err })
	require.Eventually(t, func() bool {
		outcomes, err := a.Renew(ctx, []driver.Grant{g})
		return err == nil && outcomes[0] == driver.Renewed
	}, patience, time.Millisecond)

	lose(func() error { return a.Release(ctx, g) })
	require.Eventually(t, func() bool { return a.Release(ctx, g) == nil }, patience, time.Millisecond)
	next, err := b.Acquire(ctx, redistest.Request("x"))
	require.NoError(t, err)
	assert.Greater(t, next.Token, g.Token)
}
