package redlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redlock"
)

// lag makes a node keep all scripts waiting until the returned function is called.
func (f *fleet) lag(tb testing.TB, i int) (catchUp func()) {
	tb.Helper()
	require.NoError(tb, f.raw[i].Do(context.Background(), "CLIENT", "PAUSE", redistest.AtMost.Milliseconds(), "WRITE").Err())
	return func() { require.NoError(tb, f.raw[i].Do(context.Background(), "CLIENT", "UNPAUSE").Err()) }
}

// row returns the key of a lock, which is the same on every node.
func (f *fleet) row(name string) string { return redlock.DefaultPrefix + ":" + name }

// A slow node gets no acquire request for a lease that has been released meanwhile. Otherwise, if the release did not
// arrive, the node would keep the lock without a holder for a whole TTL.
func TestSendsNoRequestAfterARelease(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	b, _ := f.client(t, steadily)
	require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, redistest.Request("x")))) // opens the connections
	b.Settle()
	catchUp := f.lag(t, 2)
	first := redistest.Acquire(t, b, redistest.Request("x"))
	require.NoError(t, b.Release(ctx, first))
	second := redistest.Acquire(t, b, redistest.Request("x"))
	require.NoError(t, b.Release(ctx, second))
	catchUp()
	b.Settle()
	last := func(i int) string { return f.raw[i].HGet(ctx, f.row("x"), "token").Val() }
	assert.Equal(t, second.Token.String(), last(0))
	assert.Equal(t, first.Token.String(), last(2), "the first request was sent before the release")
}

// A process does not block its own next request at a slow node: the node gets the release of the process's last lease
// before the process's next acquire request.
func TestDoesNotOvertakeItself(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	b, _ := f.client(t, steadily)
	for i := range 5 {
		r := redistest.Request(fmt.Sprint(i))
		require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, r)))
		b.Settle()
		catchUp := f.lag(t, 2)
		require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, r)))
		row := f.row(r.Key.Name)
		require.NoError(t, f.raw[0].HSet(ctx, row, "nonce", "another", "held_until", time.Now().Add(time.Hour).UnixMicro()).Err())
		next := redistest.Request(r.Key.Name)
		granted := make(chan error, 1)
		go func() {
			_, err := b.Acquire(ctx, next)
			granted <- err
		}()
		require.Eventually(t, func() bool { return f.raw[1].HGet(ctx, row, "nonce").Val() == next.Nonce.String() }, redistest.AtMost, time.Millisecond)
		catchUp()
		require.NoError(t, <-granted, "one node has the lock for another request, and two are free")
	}
}

// The acquire request of a lease may still be on its way to a slow node when the lease is released. If the node answers
// within NodeTimeout, it gets the release after that request. Otherwise the node would keep the lock without a holder
// for a whole TTL.
func TestReleasesAtANodeThatLags(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	b, proxies := f.client(t, steadily)
	require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, redistest.Request("x")))) // opens the connections
	b.Settle()
	proxies[2].Delay(300 * time.Millisecond) // 300 ms in each direction; NodeTimeout is five seconds
	g := redistest.Acquire(t, b, redistest.Request("x"))
	require.NoError(t, b.Release(ctx, g))
	b.Settle()
	for i, node := range f.raw {
		assert.Empty(t, node.HGet(ctx, f.row("x"), "nonce").Val(), "node %d", i)
		assert.Equal(t, g.Token.String(), node.HGet(ctx, f.row("x"), "token").Val(), "node %d got the request", i)
	}
}
