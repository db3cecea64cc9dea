package etcdlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// A node that is cut off from the other nodes, but that clients can reach, does not delay requests. Clients that have
// this node among their endpoints acquire, wait, renew and release on the other nodes. The order in which a client
// tries the nodes does not matter.
func TestCompatANodeWithoutALeaderIsPassed(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	c := cluster(t)
	alone := leader(t, c)
	c.Isolate(alone)
	defer c.Rejoin()
	var next *testserver.EtcdNode
	parted := func() bool {
		for _, n := range c.Nodes {
			if leads, err := n.Leads(t.Context()); n != alone && err == nil && leads {
				next = n
			}
		}
		return next != nil && metric(t, alone.DSN, leads) == 0
	}
	if !assert.Eventually(t, parted, 30*time.Second, 20*time.Millisecond) {
		for i, n := range c.Nodes {
			leads, err := n.Leads(t.Context())
			t.Logf("node %d: cut off %t, leads %t (%v)", i, n == alone, leads, err)
		}
		t.FailNow()
	}
	b := etcdlock.New(connect(t, alone.DSN, next.DSN), prefix())
	for i := range 4 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a request that the isolated node keeps fails before this timeout
		defer cancel()
		r := request(fmt.Sprint(i))
		if i%2 == 0 {
			_, err := b.Acquire(ctx, request("other"+r.Key.Name)) // shifts the client's order of nodes by one
			require.NoError(t, err)
		}
		g, err := b.Acquire(ctx, r)
		require.NoError(t, err)
		again, err := inQueue(b, ctx, request("queue"+r.Key.Name))
		require.NoError(t, err)
		outcomes, err := b.Renew(ctx, []driver.Grant{g, again})
		require.NoError(t, err)
		require.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, outcomes)
		require.NoError(t, b.Release(ctx, g))
		require.NoError(t, b.Release(ctx, again))
	}
}

// If an election interrupts a renewal, the renewal is retried. So no renewal fails when the leader resigns.
func TestCompatAnElectionFailsNoRenewal(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	c := cluster(t)
	nodes := map[uint64]*clientv3.Client{}
	var all []string
	for _, n := range c.Nodes {
		node := connect(t, n.DSN)
		status, err := node.Status(t.Context(), n.DSN)
		require.NoError(t, err)
		nodes[status.Header.MemberId] = node
		all = append(all, n.DSN)
	}
	// resign makes the leader transfer its leadership to another node. It returns false if there is no leader at that
	// moment.
	resign := func() bool {
		for id, node := range nodes {
			status, err := node.Status(t.Context(), node.Endpoints()[0])
			if err != nil || status.Leader != id {
				continue
			}
			for next := range nodes {
				if _, err := node.MoveLeader(t.Context(), next); next != id && err == nil {
					return true
				}
			}
		}
		return false
	}
	b := etcdlock.New(connect(t, all...), prefix())
	g, err := b.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for elections := 0; elections < 50 && t.Context().Err() == nil; {
			if resign() {
				elections++
			}
		}
	}()
	t.Cleanup(func() { <-over })
	for {
		select {
		case <-over:
			return
		default:
		}
		outcomes, err := b.Renew(t.Context(), []driver.Grant{g})
		require.NoError(t, err)
		require.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	}
}
