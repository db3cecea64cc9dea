package testserver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// An isolated node loses its leader, and the other nodes elect a leader. After Rejoin, all nodes form one ensemble
// again.
func TestCompatZooKeeperIsolation(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	testenv.DSN(t, ZooKeeper) // skips the test if testservers could not start this server
	c, err := StartZooKeeperEnsemble(t.Context(), 3, Options{Logf: t.Logf})
	require.NoError(t, err)
	defer c.Stop()
	leads := func(n *ZooKeeperNode) bool {
		yes, _ := n.Leads(t.Context())
		return yes
	}
	var old *ZooKeeperNode
	for _, n := range c.Nodes {
		if leads(n) {
			old = n
		}
	}
	require.NotNil(t, old)
	c.Isolate(old)
	require.Eventually(t, func() bool {
		leaders := 0
		for _, n := range c.Nodes {
			if n != old && leads(n) {
				leaders++
			}
		}
		return leaders == 1 && !leads(old)
	}, 2*time.Minute, 20*time.Millisecond)
	c.Rejoin()
	require.Eventually(t, func() bool {
		text, _ := askZooKeeper(t.Context(), old.DSN, "srvr")
		// The full status is longer than 100 bytes. A node that serves no requests returns a shorter message.
		return len(text) > 100
	}, 2*time.Minute, 20*time.Millisecond)
}
