package redislock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// One run of the script renews up to a hundred leases, so four runs renew 301 leases. Each lease keeps its own TTL and
// gets its own outcome. If the server does not know the script, each run is repeated with the script's text, so the
// renewal takes eight runs.
func TestRenewalsTravelInHundreds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := redistest.Connect(t, redistest.Start(t).Addr)
	b := redislock.New(c)
	grants := make([]driver.Grant, 301)
	want := make([]driver.Outcome, len(grants))
	for i := range grants {
		grants[i], want[i] = redistest.Acquire(t, b, redistest.Request(fmt.Sprint(i))), driver.Renewed
		grants[i].TTL += time.Duration(i) * time.Minute
	}
	for _, i := range []int{0, 99, 100, 151, 199, 200, 299, 300} { // the first and the last lease of each batch
		require.NoError(t, b.Release(ctx, grants[i]))
		want[i] = driver.Lost
	}
	for _, runs := range []int{8, 4} { // in the first round, the server does not know the script
		redistest.ResetRuns(t, c)
		outcomes, err := b.Renew(ctx, grants)
		require.NoError(t, err)
		assert.Equal(t, want, outcomes)
		assert.Equal(t, runs, redistest.ScriptRuns(t, c))
	}
	for i, g := range grants {
		if want[i] == driver.Renewed {
			assert.InDelta(t, g.TTL.Seconds(), leftOf(t, b, g.Key.Name).Seconds(), 15, g.Key.Name)
		}
	}
}
