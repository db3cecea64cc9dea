package redlock_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redlock"
)

// Notify needs subscriptions at a majority of the nodes. If a majority refuses, Notify returns the nodes' error at
// once.
func TestAccountsThatMayNotSubscribe(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	nodes := make([]*redis.Client, len(f.servers))
	var counts []*atomic.Int64
	for i, s := range f.servers {
		redistest.WithoutChannels(t, f.raw[i])
		var dialled *atomic.Int64
		nodes[i], dialled = redistest.AsLocks(t, s.Addr)
		counts = append(counts, dialled)
	}
	b := redlock.New(nodes, steadily)
	t.Cleanup(func() { _ = b.Close() })
	notify := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), redistest.AtMost)
		defer cancel()
		stop, err := b.Notify(ctx, driver.Key{Name: "job"}, func() {})
		if err == nil {
			stop()
		}
		return err
	}
	err := notify()
	require.ErrorContains(t, err, "SUBSCRIBE")
	assert.Equal(t, 1, strings.Count(err.Error(), "\"job\""), "%v", err)
	require.Eventually(t, func() bool { _ = notify(); return len(b.Capabilities().Warnings) == 3 }, redistest.AtMost, time.Millisecond)
	before := dials(counts)
	for range 20 {
		require.Error(t, notify())
	}
	assert.Equal(t, before, dials(counts), "the refusals are remembered")
	require.NoError(t, f.raw[2].Do(t.Context(), "ACL", "SETUSER", "locks", "allchannels").Err())
	require.NoError(t, f.raw[1].Do(t.Context(), "ACL", "SETUSER", "locks", "allchannels").Err())
	b.SubscribeAgain()
	require.NoError(t, notify(), "two of three nodes are a majority")
}

func dials(counts []*atomic.Int64) (all []int64) {
	for _, n := range counts {
		all = append(all, n.Load())
	}
	return all
}
