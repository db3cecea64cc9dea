package zklock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

// held returns a backend and its grant of the lock "a".
func held(t *testing.T) (*network, *zklock.Backend, driver.Grant) {
	t.Helper()
	n := newNetwork(t, server(t))
	b, err := n.open()
	require.NoError(t, err)
	g, err := b.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	return n, b, g
}

// A pause succeeds even if an earlier attempt of the same pause replaces the node between this attempt's read and its
// write. This can happen because a retry may read from a server that does not know of the first attempt yet.
func TestAPauseThatIsMadeMeanwhileIsMade(t *testing.T) {
	t.Parallel()
	n, b, g := held(t)
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

// If the session ends while the request for a pause is running, the error does not say that the request had no effect.
func TestAPauseOnASessionThatEndsMayBeMade(t *testing.T) {
	t.Parallel()
	n, b, g := held(t)
	require.NoError(t, n.each(b, func(p *faultproxy.Proxy) { p.DropReplies(1, faultproxy.Hang) }))
	done := make(chan error, 1)
	go func() { done <- b.Pause(t.Context(), g, driver.NewNonce()) }()
	require.Eventually(t, func() bool {
		status, err := n.watching.Inspect(t.Context(), g.Key)
		return err == nil && status.State == driver.StatePaused
	}, 20*time.Second, time.Millisecond)
	b.Abandon()
	err := <-done
	require.Error(t, err)
	require.False(t, driver.IsNotApplied(err), "%v", err)
}
