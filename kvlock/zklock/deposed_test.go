package zklock_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

// After a lost reply, the backend does not believe a deposed leader that does not know of its deposition. Such a leader
// still answers requests for a sync, without asking the other servers, although it does not have the acquisition's
// node. If the backend believed that leader, it would report the acquisition as not applied. The acquisition's node
// would then stay at the head of the queue for as long as the session lives.
//
// The test cuts the leader off and restarts the other servers, so that they elect a new leader. The old leader gives up
// only when it has heard nothing from the other servers for syncLimit. The client has one address. While the request is
// sent, this address leads to another server. Afterwards it leads to the old leader.
func TestCompatADeposedLeaderDeniesNothing(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	server(t)
	c, err := testserver.StartZooKeeperEnsemble(t.Context(), 3, testserver.Options{Config: "syncLimit=600\n", Logf: t.Logf}) // syncLimit is two minutes
	require.NoError(t, err)
	t.Cleanup(c.Stop)
	deposed, serving := leader(t, c), follower(t, c)
	address, err := faultproxy.New(serving.DSN)
	require.NoError(t, err)
	t.Cleanup(address.Close)
	where := root()
	b := open(t, []string{address.Addr()}, where)
	r := request("a")
	r.TTL = time.Minute
	warm := r
	warm.Nonce = driver.NewNonce()
	g, err := b.Acquire(t.Context(), warm)
	require.NoError(t, err)
	require.NoError(t, b.Release(t.Context(), g))
	_, err = open(t, []string{deposed.DSN}, where).List(t.Context(), "", true) // List syncs, so afterwards the future deposed leader has all changes that the client has seen
	require.NoError(t, err)

	c.Isolate(deposed)
	defer c.Rejoin()
	var restarts sync.WaitGroup
	for _, n := range c.Nodes {
		if n != deposed {
			n.Kill()
			restarts.Go(func() { assert.NoError(t, n.Restart(t.Context())) })
		}
	}
	restarts.Wait()
	majority := connect(t, usualSession, serving.DSN)
	standing := func() int {
		children, _, err := majority.Children(b.Container(r.Key))
		require.NoError(t, err)
		return len(zklock.Sequences(children))
	}
	// The client must send no request here. The reply to a request would show the client changes that the old leader
	// does not have.
	require.Eventually(t, func() bool {
		_, err := majority.Sync(b.Container(r.Key))
		return err == nil && strings.Contains(fourLetters(t, serving.DSN, "cons"), ",to=120000,") && b.Connected()
	}, time.Minute, 10*time.Millisecond, "the client has reconnected, so the next reply is not that of the handshake")

	address.DropReplies(1, faultproxy.Hang)
	address.PointAt(deposed.DSN)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	type result struct {
		driver.Grant
		error
	}
	attempt := make(chan result, 1)
	go func() {
		g, err := b.Acquire(ctx, r)
		attempt <- result{g, err}
	}()
	require.Eventually(t, func() bool { return standing() == 1 }, 30*time.Second, 5*time.Millisecond)
	leads, err := deposed.Leads(t.Context())
	require.NoError(t, err)
	require.True(t, leads)
	sent := address.Sent()
	address.Reset()
	require.Eventually(t, func() bool { return address.Sent() >= sent+2 }, 30*time.Second, time.Millisecond, "the client connects to the old leader and sends a request")
	address.PointAt(serving.DSN)
	got := <-attempt
	if got.error != nil && driver.IsNotApplied(got.error) {
		require.Zero(t, standing(), "the node exists, but the request is reported as not applied: %v", got.error)
	}
	require.NoError(t, got.error)
	require.NoError(t, b.Release(t.Context(), got.Grant))
	require.Zero(t, standing())
}
