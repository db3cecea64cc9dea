package redlock_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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
	gates := make([]*gate, len(f.servers))
	nodes := make([]*redis.Client, len(f.servers))
	for i, s := range f.servers {
		gates[i] = &gate{passes: -1}
		nodes[i] = redis.NewClient(&redis.Options{Addr: s.Addr, Dialer: gates[i].dial, ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = nodes[i].Close() })
	}
	b := redlock.New(nodes, redlock.NodeTimeout(time.Second))
	t.Cleanup(func() { _ = b.Close() })
	other, _ := f.client(t, steadily)
	require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, redistest.Request("x")))) // opens the connections
	b.Settle()

	row := f.row("x")
	require.NoError(t, f.raw[0].HSet(ctx, row, "nonce", "another", "held_until", time.Now().Add(time.Hour).UnixMicro(), "expires_at", time.Now().Add(time.Hour).UnixMicro()).Err())
	gates[1].hold(1) // the vote passes, and the undo does not
	gates[2].hold(0)
	r := redistest.Request("x")
	_, err := b.Acquire(ctx, r)
	require.Error(t, err, "one node has the lock for another request, and one does not answer")
	b.Settle()
	require.Equal(t, r.Nonce.String(), f.raw[1].HGet(ctx, row, "nonce").Val(), "the undo has not arrived")

	undo := gates[1].open()
	require.NotEmpty(t, undo)
	require.NoError(t, f.raw[0].HSet(ctx, row, "nonce", "", "held_until", 0, "expires_at", 0).Err())
	require.Eventually(t, func() bool {
		_, err := b.Acquire(ctx, r)
		return err == nil
	}, redistest.AtMost, time.Millisecond, "two nodes answer")
	b.Settle()
	require.Equal(t, r.Nonce.String(), f.raw[1].HGet(ctx, row, "nonce").Val())
	for _, arrives := range undo {
		arrives(t)
	}
	_, err = other.Acquire(ctx, redistest.Request("x"))
	var held *driver.Held
	assert.ErrorAs(t, err, &held, "the lock was granted twice")
}

// gate delays what a client sends to a node until the test delivers it, even if the client has closed its connection.
type gate struct {
	mu     sync.Mutex
	passes int // how many messages still pass; negative if all pass
	held   []func(*testing.T)
}

func (g *gate) hold(after int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passes = after
}

// open lets all later messages pass. It returns functions that each deliver a message that was held, and wait for the
// node's answer.
func (g *gate) open() []func(*testing.T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := g.held
	g.passes, g.held = -1, nil
	return held
}

func (g *gate) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return &gated{Conn: conn, gate: g}, err
}

type gated struct {
	net.Conn

	gate  *gate
	holds bool // guarded by gate.mu
}

func (c *gated) Write(message []byte) (int, error) {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if c.gate.passes != 0 {
		c.gate.passes = max(-1, c.gate.passes-1)
		return c.Conn.Write(message)
	}
	message, c.holds = slices.Clone(message), true
	c.gate.held = append(c.gate.held, func(t *testing.T) {
		defer c.Conn.Close()
		require.NoError(t, c.Conn.SetDeadline(time.Now().Add(patience)))
		_, err := c.Conn.Write(message)
		require.NoError(t, err)
		_, err = c.Conn.Read(make([]byte, 1))
		require.NoError(t, err)
	})
	return len(message), nil
}

// Close leaves the connection to the node open while a message is held.
func (c *gated) Close() error {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if c.holds {
		return nil
	}
	return c.Conn.Close()
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
