package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redlock"
)

const lockX = redlock.DefaultPrefix + ":x"

// patience is the longest time for which a test waits for an event. It is long enough for a loaded machine.
const patience = 30 * time.Second

// shortly is the option of tests in which a node hangs. It is longer than the default NodeTimeout, because the other
// nodes may be slow on a loaded machine.
var shortly = redlock.NodeTimeout(2 * time.Second)

// candidate is a waiter for the name "job", with its own backend, as in a separate process.
type candidate struct {
	*redlock.Backend
	woken chan struct{}
	stop  func()
}

// row adds n candidates to the sets of waiters, and returns them in the order of their requests.
func row(tb testing.TB, f *fleet, n int) (all []*candidate) {
	tb.Helper()
	for range n {
		c := &candidate{woken: make(chan struct{}, 100)}
		c.Backend, _ = f.client(tb, steadily)
		ctx, cancel := context.WithTimeout(context.Background(), redistest.AtMost)
		stop, err := c.Notify(ctx, driver.Key{Name: "job"}, func() { c.woken <- struct{}{} })
		cancel()
		require.NoError(tb, err)
		tb.Cleanup(stop)
		c.stop = stop
		c.refused(tb)
		c.Settle()
		all = append(all, c)
	}
	return all
}

func (c *candidate) called(tb testing.TB) {
	tb.Helper()
	select {
	case <-c.woken:
	case <-time.After(redistest.AtMost):
		require.FailNow(tb, "was not notified")
	}
}

// refused sends a request of a waiter, which must be refused.
func (c *candidate) refused(tb testing.TB) *driver.Held {
	tb.Helper()
	r := redistest.Request("job")
	r.Waiting = true
	_, err := c.Acquire(context.Background(), r)
	var held *driver.Held
	require.ErrorAs(tb, err, &held)
	return held
}

// take sends the request of a notified waiter, which must be granted.
func (c *candidate) take(tb testing.TB) driver.Grant {
	tb.Helper()
	r := redistest.Request("job")
	r.Waiting = true
	g, err := c.Acquire(context.Background(), r)
	require.NoError(tb, err)
	c.Settle()
	return g
}
