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

// lag has a node run no script until the returned function is called: what is sent to it waits there.
func (f *fleet) lag(tb testing.TB, i int) (catchUp func()) {
	tb.Helper()
	require.NoError(tb, f.raw[i].Do(context.Background(), "CLIENT", "PAUSE", redistest.AtMost.Milliseconds(), "WRITE").Err())
	return func() { require.NoError(tb, f.raw[i].Do(context.Background(), "CLIENT", "UNPAUSE").Err()) }
}

// row is the key of a lock, on every node.
func (f *fleet) row(name string) string { return redlock.DefaultPrefix + ":" + name }

// A node that lags is not asked any more for what has been released since: it would have the lock for nothing, and for as long as
// the TTL if the release did not come through.
func TestAsksForNothingThatIsOver(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	b, _ := f.client(t, steadily)
	require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, redistest.Request("x")))) // so that the connections are made
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
	assert.Equal(t, first.Token.String(), last(2), "it was asked for the first before anything was released")
}

// At a node that lags nobody is in his own way: the next try comes after the end of what was released.
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
		require.NoError(t, <-granted, "one node has it for another, and two are free")
	}
}

// A node that takes long for each request, but not too long, is told of the release of a lease that it is still being asked for: else
// it would have the lock for nobody, and for as long as the TTL.
func TestReleasesAtANodeThatLags(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	b, proxies := f.client(t, shortly)
	require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, redistest.Request("x")))) // so that the connections are made
	b.Settle()
	proxies[2].Delay(700 * time.Millisecond) // in each direction, and of two seconds
	g := redistest.Acquire(t, b, redistest.Request("x"))
	require.NoError(t, b.Release(ctx, g))
	b.Settle()
	for i, node := range f.raw {
		assert.Empty(t, node.HGet(ctx, f.row("x"), "nonce").Val(), "node %d", i)
		assert.Equal(t, g.Token.String(), node.HGet(ctx, f.row("x"), "token").Val(), "node %d was asked", i)
	}
}
