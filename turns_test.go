package rowlock_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// Promise 11: the scheduler has one request for a lease under way, also if Renew is called and answered meanwhile.
func TestRenewStartsNoSecondRequestInTheBackground(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lease := acquire(t, locker(t, store, rowlock.TTL(ttl), rowlock.RenewEvery(100*time.Millisecond)), "a")
		store.Intercept(func(c memlock.Call) memlock.Fault {
			return memlock.Fault{LoseRequest: c.Op == memlock.OpRenew && c.N != 1} // that of Renew is answered
		})
		time.Sleep(150 * time.Millisecond)
		require.NoError(t, lease.Renew(background))
		time.Sleep(500 * time.Millisecond) // less than what a request is given
		assert.Equal(t, 2, store.Calls(memlock.OpRenew), "one of the scheduler, which hangs, and one of Renew")
		require.NoError(t, lease.Err())
	})
}

// jammed is a store that says nothing of names that begin with "jam", and notes which others are renewed.
type jammed struct {
	*memlock.Backend

	mu      sync.Mutex
	renewed []string
}

func (j *jammed) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if strings.HasPrefix(grants[0].Key.Name, "jam") {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	j.mu.Lock()
	for _, g := range grants {
		j.renewed = append(j.renewed, g.Key.Name)
	}
	j.mu.Unlock()
	return j.Backend.Renew(ctx, grants)
}

// Promise 8: a lease that is lost is renewed no more, also if its renewal was waiting for its turn when it was lost: the
// name would stay closed for one more TTL.
func TestWhatIsLostWhileItWaitsForItsTurnIsNotRenewed(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		j := &jammed{Backend: store}
		l := locker(t, j)
		for _, name := range []string{"jam 1", "jam 2", "jam 3", "jam 4"} { // one request each, which lasts for 5 s
			acquire(t, l, name, rowlock.TTL(time.Minute), rowlock.RenewEvery(time.Second))
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(1900 * time.Millisecond) // all are under way, until 6 s from the beginning and later
		lease := acquire(t, l, "a", rowlock.TTL(ttl), rowlock.RenewEvery(ttl/3))
		start := time.Now()
		assert.Equal(t, trust, until(t, lease.Context().Done()))
		time.Sleep(ttl - trust) // until then the store would still renew it
		j.mu.Lock()
		assert.NotContains(t, j.renewed, "a")
		j.mu.Unlock()
		acquire(t, locker(t, store), "a")
		assert.InDelta(t, ttl, time.Since(start), float64(50*time.Millisecond), "it was free at once")
	})
}
