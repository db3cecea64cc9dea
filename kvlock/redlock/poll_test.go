package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
)

// scripts returns how many scripts the nodes have run.
func (f *fleet) scripts(tb testing.TB) (n int) {
	tb.Helper()
	for _, c := range f.raw {
		for line := range strings.Lines(c.Info(context.Background(), "commandstats").Val()) {
			var calls int
			if _, err := fmt.Sscanf(line, "cmdstat_evalsha:calls=%d", &calls); err == nil {
				n += calls
			}
		}
	}
	return n
}

// After all nodes have refused a waiter, it polls one node. After a notification it sends a request to all nodes.
func TestAPollAsksOneNode(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily)
	g := redistest.Acquire(t, holder, redistest.Request("job"))
	holder.Settle()
	waiter := row(t, f, 1)[0]
	r := redistest.Request("job")
	r.Waiting = true
	ask := func() (requests int, err error) {
		before := f.scripts(t)
		_, err = waiter.Acquire(t.Context(), r)
		waiter.Settle()
		return f.scripts(t) - before, err
	}
	var held *driver.Held
	_, err := ask() // this request goes to all nodes, because a subscription was confirmed after the first request
	require.ErrorAs(t, err, &held)
	for polls := 0; polls < 10; {
		requests, err := ask()
		require.ErrorAs(t, err, &held)
		select {
		case <-waiter.woken: // the last node has confirmed the subscription, so this request or the next goes to all nodes
			_, err = ask()
			require.ErrorAs(t, err, &held)
			continue
		default:
		}
		assert.Equal(t, 1, requests)
		assert.Equal(t, "test", held.Holder)
		polls++
	}
	require.NoError(t, holder.Release(t.Context(), g))
	holder.Settle()
	waiter.called(t)
	requests, err := ask()
	require.NoError(t, err)
	assert.Equal(t, 3, requests)
}

// A poll may ask a node that has a lease which the other nodes do not have. The next polls ask other nodes, so the
// waiter is granted the lock.
func TestAPollIsNotStoppedByOneNode(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	holder, _ := f.client(t, steadily)
	redistest.Acquire(t, holder, redistest.Request("job"))
	holder.Settle()
	waiter := row(t, f, 1)[0]
	r := redistest.Request("job")
	r.Waiting = true
	var held *driver.Held
	_, err := waiter.Acquire(t.Context(), r)
	require.ErrorAs(t, err, &held)
	for _, i := range []int{1, 2} {
		require.NoError(t, f.raw[i].Del(t.Context(), "redlock::job").Err())
	}
	require.Eventually(t, func() bool {
		_, err := waiter.Acquire(t.Context(), r)
		return err == nil
	}, redistest.AtMost, time.Millisecond)
}
