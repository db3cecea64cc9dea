package etcdlock_test

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

// In a black hole between client and cluster the holder's context ends before another is granted the
// name, each time: the margin is never negative. The TTL is the longest that etcd's lease of two seconds
// is taken for, so that the rounding adds nothing to the margin.
func TestABlackHoleNeverMakesTwoHolders(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, endpoints(cluster(t))...)
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
	lease, err := lockerOn(t, b, rowlock.TTL(1777*time.Millisecond)).Acquire(t.Context(), name)
	if err != nil {
		return 0, err
	}
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
