package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redlock"
)

// heldByTwo acquires a lease that only the second and the third of three nodes have. The third node then loses the
// lease in a restart.
func heldByTwo(t *testing.T, f *fleet) (*redlock.Backend, driver.Grant) {
	t.Helper()
	ctx := context.Background()
	a, proxies := f.client(t, shortly)
	_, err := a.Acquire(ctx, redistest.Request("warm"))
	require.NoError(t, err)
	a.Settle()
	proxies[0].Cut()
	g, err := a.Acquire(ctx, redistest.Request("x"))
	require.NoError(t, err)
	a.Settle()
	proxies[0].Restore()
	require.Empty(t, f.raw[0].HGet(ctx, lockX, "confirmed").Val())
	f.servers[2].Kill()
	require.NoError(t, f.servers[2].Restart(ctx))
	return a, g
}

// A node that was restarted without its data does not vote, so no other request is granted the lock that the node lost.
// After the quarantine the node votes again, and the next token is larger than all earlier tokens.
func TestNodeRestartedEmpty(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	a, g := heldByTwo(t, f)
	b, proxies := f.client(t, steadily)
	var held *driver.Held
	// Only one node knows the lease. If the lease were younger than the NodeTimeout of b, it could belong to a request that
	// competes with b's request.
	require.NoError(t, f.raw[1].HIncrBy(ctx, lockX, "acquired_at", -time.Minute.Microseconds()).Err())
	_, err := b.Acquire(ctx, redistest.Request("x"))
	require.ErrorAs(t, err, &held)
	assert.Equal(t, driver.Leased, held.Reason)
	assert.Equal(t, g.Token, held.Token)
	outcomes, err := a.Renew(ctx, []driver.Grant{g})
	if err == nil {
		assert.NotEqual(t, driver.Renewed, outcomes[0], "one node of three is not a majority")
	}
	b.Settle()
	require.Equal(t, "0", f.raw[2].HGet(ctx, record, "admitted").Val())

	require.NoError(t, f.raw[1].Del(ctx, lockX).Err()) // removes the lease, as its expiry would
	next, err := b.Acquire(ctx, redistest.Request("x"))
	require.NoError(t, err)
	assert.Greater(t, next.Token, g.Token)
	require.NoError(t, b.Release(ctx, next))
	f.age(t, 2)
	last := next
	require.Eventually(t, func() bool {
		last, err = b.Acquire(ctx, redistest.Request("x"))
		require.NoError(t, err)
		require.NoError(t, b.Release(ctx, last))
		b.Settle()
		return f.raw[2].HGet(ctx, record, "admitted").Val() == "1"
	}, patience, time.Millisecond)
	proxies[0].Cut()
	again, err := b.Acquire(ctx, redistest.Request("x"))
	require.NoError(t, err, "the node votes again")
	assert.Greater(t, again.Token, last.Token)
}

// This is the control of the test above: if the restarted node voted at once, the lock would be granted twice.
func TestNodeThatVotesAtOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	heldByTwo(t, f)
	require.NoError(t, giveVote(ctx, f.raw[2]))
	b, _ := f.client(t, steadily)
	_, err := b.Acquire(ctx, redistest.Request("x"))
	require.NoError(t, err)
}

// If a majority of the nodes has lost a lease, the lease is lost for good. If only a minority has lost it, a renewal
// copies the lease to these nodes again.
func TestQuorumLost(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	a, _ := f.client(t, steadily)
	g, err := a.Acquire(ctx, redistest.Request("x"))
	require.NoError(t, err)
	renew := func() driver.Outcome {
		a.Settle()
		outcomes, err := a.Renew(ctx, []driver.Grant{g})
		require.NoError(t, err)
		a.Settle()
		return outcomes[0]
	}
	forget := func(nodes ...int) {
		a.Settle()
		for _, i := range nodes {
			require.NoError(t, f.raw[i].Del(ctx, lockX).Err())
		}
	}
	forget(0)
	for range 10 { // repeat, because only the nodes that answer early are known to lack the lease
		require.Equal(t, driver.Renewed, renew())
		if f.raw[0].Exists(ctx, lockX).Val() == 1 {
			break
		}
	}
	assert.Equal(t, []any{g.Nonce.String(), g.Token.String(), "test", "x"}, f.raw[0].HMGet(ctx, lockX, "nonce", "confirmed", "holder", "note").Val())

	forget(1)
	require.NoError(t, f.raw[2].HSet(ctx, lockX, "expires_at", 1).Err())
	for range 3 {
		assert.Equal(t, driver.Lost, renew(), "a lost quorum must not be regained")
	}
	assert.Zero(t, f.raw[1].Exists(ctx, lockX).Val())
	b, _ := f.client(t, steadily)
	require.NoError(t, f.raw[2].HSet(ctx, lockX, "held_until", 1).Err())
	next, err := b.Acquire(ctx, redistest.Request("x"))
	require.NoError(t, err)
	assert.Greater(t, next.Token, g.Token)
	assert.Equal(t, driver.Lost, renew())
	require.ErrorIs(t, a.Release(ctx, g), driver.ErrNotHeld)
}

// After FLUSHALL on one of three nodes, only that node's vote is missing. After FLUSHALL on two nodes, no request is
// granted the lock until their quarantine is over. Tokens keep rising.
func TestFlushed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	a, _ := f.client(t, steadily)
	b, _ := f.client(t, steadily)
	g, err := a.Acquire(ctx, redistest.Request("x"))
	require.NoError(t, err)
	a.Settle()
	require.NoError(t, f.raw[0].FlushAll(ctx).Err())
	outcomes, err := a.Renew(ctx, []driver.Grant{g})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	var held *driver.Held
	_, err = b.Acquire(ctx, redistest.Request("x"))
	require.ErrorAs(t, err, &held)
	assert.Equal(t, driver.Leased, held.Reason)

	b.Settle()
	require.NoError(t, f.raw[1].FlushAll(ctx).Err())
	_, err = a.Renew(ctx, []driver.Grant{g})
	require.ErrorContains(t, err, "may have forgotten")
	_, err = b.Acquire(ctx, redistest.Request("x"))
	require.ErrorAs(t, err, &held)
	assert.Equal(t, driver.Leased, held.Reason)
	b.Settle()
	require.NoError(t, f.raw[2].HSet(ctx, lockX, "expires_at", 1, "held_until", 1).Err())
	_, err = b.Acquire(ctx, redistest.Request("x"))
	require.ErrorAs(t, err, &held)
	assert.Equal(t, driver.Quarantine, held.Reason)
	assert.Greater(t, held.ExpiresIn, 30*time.Second)
	assert.LessOrEqual(t, held.ExpiresIn, 66*time.Second)
	b.Settle()
	f.age(t, 0)
	f.age(t, 1)
	next, err := b.Acquire(ctx, redistest.Request("x"))
	require.NoError(t, err, "all nodes answered, so those that are ready are admitted at once")
	assert.Greater(t, next.Token, g.Token)
}

// New servers do not vote until their quarantine is over. Until then a request is refused with the reason Quarantine.
// The first call after that admits the servers.
func TestFirstUse(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	for _, c := range f.raw {
		require.NoError(t, c.FlushAll(ctx).Err())
	}
	b, _ := f.client(t, steadily, redlock.MaxTTL(30*time.Second))
	var held *driver.Held
	_, err := b.Acquire(ctx, redistest.Request("x"))
	require.ErrorAs(t, err, &held)
	assert.Equal(t, driver.Quarantine, held.Reason)
	assert.LessOrEqual(t, held.ExpiresIn, 33*time.Second)
	b.Settle()
	for i := range f.raw {
		f.age(t, i)
	}
	g, err := b.Acquire(ctx, redistest.Request("x"))
	require.NoError(t, err)
	require.NoError(t, b.Release(ctx, g))
}

// Two calls may admit the same nodes at the same time, one of them in the background. The call that comes later finds
// that no node waits to be admitted. It votes again too, because these nodes vote now.
func TestNodesThatAnotherCallHasAdmitted(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	b, _ := f.client(t, steadily)
	for i, c := range f.raw {
		require.NoError(t, c.HSet(t.Context(), record, "admitted", 0).Err())
		f.age(t, i)
	}
	assert.True(t, b.AdmitNodes())
	assert.True(t, b.AdmitNodes(), "the nodes vote, so the caller must vote again")
}

// A lease that is only renewed survives if every node is restarted, one after the other, with enough time between the
// restarts. Each time, the renewal makes the backend admit the restarted node again, and copies the lease to it.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	a, _ := f.client(t, steadily)
	g, err := a.Acquire(ctx, redistest.Request("x"))
	require.NoError(t, err)
	renew := func() bool {
		outcomes, err := a.Renew(ctx, []driver.Grant{g})
		a.Settle()
		return err == nil && outcomes[0] == driver.Renewed
	}
	a.Settle()
	for i, s := range f.servers {
		s.Kill()
		require.NoError(t, s.Restart(ctx))
		require.Eventually(t, func() bool {
			require.True(t, renew())
			return f.raw[i].Exists(ctx, record).Val() == 1
		}, patience, time.Millisecond)
		require.Equal(t, "0", f.raw[i].HGet(ctx, record, "admitted").Val())
		f.age(t, i)
		require.Eventually(t, func() bool { return renew() && f.raw[i].HGet(ctx, lockX, "confirmed").Val() == g.Token.String() }, patience, time.Millisecond)
		top, err := f.raw[i].HGet(ctx, record, "top").Int64()
		require.NoError(t, err)
		assert.GreaterOrEqual(t, top, int64(g.Token))
	}
	b, _ := f.client(t, steadily)
	var held *driver.Held
	_, err = b.Acquire(ctx, redistest.Request("x"))
	require.ErrorAs(t, err, &held)
	require.NoError(t, a.Release(ctx, g))
}

// A server that was restarted with its data may have lost its last writes. Its quarantine begins at its start.
func TestAnotherRun(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	for i, c := range f.raw {
		require.NoError(t, f.servers[i].Restart(ctx)) // so that the server has just started
		require.NoError(t, c.HSet(ctx, record, "run_id", "before").Err())
	}
	b, _ := f.client(t, steadily)
	var held *driver.Held
	_, err := b.Acquire(ctx, redistest.Request("x"))
	require.ErrorAs(t, err, &held)
	assert.Equal(t, driver.Quarantine, held.Reason)
	b.Settle()
	for _, c := range f.raw {
		now, err := c.Time(ctx).Result()
		require.NoError(t, err)
		since, err := c.HGet(ctx, record, "since").Int64()
		require.NoError(t, err)
		started := time.UnixMicro(since)
		assert.True(t, started.Before(now) && started.After(now.Add(-time.Minute)), "%s", started)
		id, err := runID(ctx, c)
		require.NoError(t, err)
		assert.Equal(t, id, c.HGet(ctx, record, "run_id").Val())
	}
}

// A lease may be released while a renewal copies it to a node that lacks it. The copy then does not restore the lease
// at that node.
func TestReleasedIsNotPutBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	a, proxies := f.client(t, steadily)
	g, err := a.Acquire(ctx, redistest.Request("x"))
	require.NoError(t, err)
	a.Settle()
	require.NoError(t, f.raw[0].Del(ctx, lockX).Err())
	proxies[0].Delay(200 * time.Millisecond)
	outcomes, err := a.Renew(ctx, []driver.Grant{g})
	require.NoError(t, err)
	require.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	require.NoError(t, a.Release(ctx, g))
	a.Settle()
	assert.Equal(t, []any{"", g.Token.String()}, f.raw[0].HMGet(ctx, lockX, "nonce", "token").Val(), "the release left the token, and the copy did not restore the lease")
}

// A server that was restarted with its record, but perhaps without its last writes, does not vote. This holds even if
// the run id in the record is the id that a client knows.
func TestRestartedWithItsRecord(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	a, proxies := f.client(t, steadily)
	g := redistest.Acquire(t, a, redistest.Request("x"))
	a.Settle()
	kept := f.raw[2].HGetAll(ctx, record).Val()
	require.Equal(t, "1", kept["admitted"])
	f.servers[2].Kill()
	require.NoError(t, f.servers[2].Restart(ctx))
	require.NoError(t, f.raw[2].HSet(ctx, record, kept).Err())
	require.NoError(t, f.raw[1].Del(ctx, lockX).Err())
	proxies[0].Close() // so that the node refuses connections, and nobody waits for it
	outcomes, err := a.Renew(ctx, []driver.Grant{g})
	if err == nil {
		assert.NotEqual(t, driver.Renewed, outcomes[0])
	}
	var held *driver.Held
	_, err = a.Acquire(ctx, redistest.Request("x"))
	require.ErrorAs(t, err, &held)
	assert.Equal(t, driver.Quarantine, held.Reason)
	a.Settle()
	now, err := runID(ctx, f.raw[2])
	require.NoError(t, err)
	assert.Equal(t, []any{now, "0"}, f.raw[2].HMGet(ctx, record, "run_id", "admitted").Val())
}
