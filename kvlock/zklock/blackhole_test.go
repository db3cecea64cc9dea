package zklock_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/rowlock/rowlock"
)

// trialsVariable asks for more trials than a usual run makes.
const trialsVariable = "ROWLOCK_TEST_BLACKHOLES" // such as 50

func trials(t *testing.T) int {
	t.Helper()
	text := os.Getenv(trialsVariable)
	if text == "" {
		return 6
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, trialsVariable)
	return n
}

// blackHoles cuts clients off from all servers: each holder's context ends before another is granted
// the name.
func blackHoles(t *testing.T, servers []string) {
	t.Helper()
	n := newNetwork(t, servers...)
	var mu sync.Mutex
	var margins []time.Duration
	var group errgroup.Group
	group.SetLimit(10)
	for i := range trials(t) {
		group.Go(func() error {
			margin, err := n.blackHole(t, fmt.Sprint("trial", i), time.Duration(i%50)*10*time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			margins = append(margins, margin)
			return err
		})
	}
	require.NoError(t, group.Wait())
	least, most := margins[0], margins[0]
	for _, m := range margins {
		least, most = min(least, m), max(most, m)
	}
	t.Logf("%d trials: the holder's context ended %s to %s before the next grant", len(margins), least.Round(time.Millisecond), most.Round(time.Millisecond))
	assert.Positive(t, least)
}

// blackHole cuts a holder off some time after its grant, and returns by how much it knew before another
// was granted the name.
func (n *network) blackHole(t *testing.T, name string, after time.Duration) (time.Duration, error) {
	b, err := n.open()
	if err != nil {
		return 0, err
	}
	lease := atLast(t, lockerOn(t, b, rowlock.TTL(time.Second)), name)
	ended := make(chan time.Time, 1)
	context.AfterFunc(lease.Context(), func() { ended <- time.Now() })
	time.Sleep(after) // anywhere between two renewals
	if err := n.Cut(b); err != nil {
		return 0, err
	}
	next, err := lockerOn(t, n.watching).Acquire(t.Context(), name)
	granted := time.Now()
	if err != nil {
		return 0, err
	}
	assert.ErrorIs(t, lease.Err(), rowlock.ErrLost, "both are trusted")
	assert.Greater(t, next.Token(), lease.Token())
	return granted.Sub(<-ended), nil
}
