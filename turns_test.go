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

// Promise 11 of docs/guarantees.md: the scheduler has only one request for a lease in progress, even if Renew is called
// meanwhile and succeeds.
func TestRenewStartsNoSecondRequestInTheBackground(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lease := acquire(t, locker(t, store, rowlock.TTL(ttl), rowlock.RenewEvery(100*time.Millisecond)), "a")
		store.Intercept(func(c memlock.Call) memlock.Fault {
			return memlock.Fault{LoseRequest: c.Op == memlock.OpRenew && c.N != 1} // only the second renewal, which Renew sends, gets a reply
		})
		time.Sleep(150 * time.Millisecond)
		require.NoError(t, lease.Renew(background))
		time.Sleep(500 * time.Millisecond) // less than the time limit of a request
		assert.Equal(t, 2, store.Calls(memlock.OpRenew), "one of the scheduler, which hangs, and one of Renew")
		require.NoError(t, lease.Err())
	})
}

// jammed is a store that does not reply for names that begin with "jam". It records which other names are renewed.
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

// Promise 8 of docs/guarantees.md: a lost lease is not renewed, even if the renewal was already waiting to be sent when
// the lease was lost. A renewal would keep the name held for another TTL.
func TestALostLeaseInTheRenewalQueueIsNotRenewed(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		j := &jammed{Backend: store}
		l := locker(t, j)
		for _, name := range []string{"jam 1", "jam 2", "jam 3", "jam 4"} { // each name gets its own request, which lasts for 5 s
			acquire(t, l, name, rowlock.TTL(time.Minute), rowlock.RenewEvery(time.Second))
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(1900 * time.Millisecond) // all four requests are now in progress, at least until 6 s after the beginning
		lease := acquire(t, l, "a", rowlock.TTL(ttl), rowlock.RenewEvery(ttl/3))
		start := time.Now()
		assert.Equal(t, trust, until(t, lease.Context().Done()))
		time.Sleep(ttl - trust) // until this instant the store would still renew the lease
		j.mu.Lock()
		assert.NotContains(t, j.renewed, "a")
		j.mu.Unlock()
		acquire(t, locker(t, store), "a")
		assert.InDelta(t, ttl, time.Since(start), float64(50*time.Millisecond), "the name was free at once")
	})
}
