package etcdlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
)

// A grant has its full TTL, even if its session is older and was last renewed long before.
func TestAGrantHasItsFullTTL(t *testing.T)       { onOneNode(t, aGrantHasItsFullTTL) }
func TestCompatAGrantHasItsFullTTL(t *testing.T) { onThreeNodes(t, aGrantHasItsFullTTL) }

func aGrantHasItsFullTTL(t *testing.T, n *network) {
	r := request("first")
	r.TTL = 8 * time.Second // the session's TTL is 9 s
	_, err := n.watching.Acquire(t.Context(), r)
	require.NoError(t, err)
	session, err := n.leaseOf(t.Context(), r.Key)
	require.NoError(t, err)
	left := func() time.Duration {
		reply, err := n.direct.TimeToLive(t.Context(), session)
		require.NoError(t, err)
		return time.Duration(reply.TTL) * time.Second // rounded down
	}
	require.Eventually(t, func() bool { return left() < 7*time.Second }, 30*time.Second, 100*time.Millisecond)
	r.Key.Name, r.Nonce = "second", driver.NewNonce()
	before := time.Now()
	g, err := n.watching.Acquire(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, r.TTL, g.TTL)
	ending := left()
	require.GreaterOrEqual(t, ending+time.Since(before), g.TTL)
	other, err := n.leaseOf(t.Context(), r.Key)
	require.NoError(t, err)
	require.Equal(t, session, other)
}

// The remaining life of a session is counted from the moment at which the last answered request was sent, not from its
// reply.
func TestASessionIsCountedFromTheRequest(t *testing.T) { onOneNode(t, aSessionIsCountedFromTheRequest) }
func TestCompatASessionIsCountedFromTheRequest(t *testing.T) {
	onThreeNodes(t, aSessionIsCountedFromTheRequest)
}

func aSessionIsCountedFromTheRequest(t *testing.T, n *network) {
	b, err := n.open()
	require.NoError(t, err)
	_, err = b.List(t.Context(), "", true) // opens the connection first
	require.NoError(t, err)
	const delay = 200 * time.Millisecond
	require.NoError(t, n.Each(b, func(p *faultproxy.Proxy) { p.Delay(delay) }))
	g, err := b.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, b.Age(g.Nonce), 4*delay, "at least two round trips ago")
	_, err = b.Renew(t.Context(), []driver.Grant{g})
	require.NoError(t, err)
	require.GreaterOrEqual(t, b.Age(g.Nonce), 2*delay)
}
