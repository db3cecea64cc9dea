package zklock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
)

// A pause succeeds even if an earlier attempt of the same pause replaces the node between this attempt's read and its
// write. This can happen because a retry may read from a server that does not know of the first attempt yet.
func TestAPauseThatIsMadeMeanwhileIsMade(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	b, err := n.open()
	require.NoError(t, err)
	g, err := b.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	// The delay lets all callers read before the first of them writes.
	require.NoError(t, n.each(b, func(p *faultproxy.Proxy) { p.Delay(100 * time.Millisecond) }))
	as := driver.NewNonce()
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() { assert.NoError(t, b.Pause(t.Context(), g, as)) })
	}
	group.Wait()
	status, err := n.watching.Inspect(t.Context(), g.Key)
	require.NoError(t, err)
	require.Equal(t, driver.StatePaused, status.State)
}
