package rowlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// spoiled is a store in which a renewal request fails for all its leases if one of them is poisoned.
// A SQL statement fails in the same way if the server cannot read one of its parameters.
type spoiled struct {
	*memlock.Backend

	poisoned func(name string) bool
	answers  time.Duration // the time that a request takes
	calls    atomic.Int32
}

var errSpoiled = errors.New("invalid byte sequence")

func (s *spoiled) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	s.calls.Add(1)
	time.Sleep(s.answers)
	for _, g := range grants {
		if s.poisoned(g.Key.Name) {
			return nil, errSpoiled
		}
	}
	return s.Backend.Renew(ctx, grants)
}

// Promise 11 of docs/guarantees.md: one bad lease does not harm other leases. Of a thousand leases, only the leases
// that cannot be renewed are lost. The position of these leases in the batch and their number do not matter. After
// their loss, one request in each interval renews all other leases.
func TestALeaseThatCannotBeRenewedIsLostAlone(t *testing.T) {
	const leases = 1000
	for name, poisoned := range map[string]func(i int) bool{
		"the first":          func(i int) bool { return i == 0 },
		"the last":           func(i int) bool { return i == leases-1 },
		"in the middle":      func(i int) bool { return i == 617 },
		"a hundred":          func(i int) bool { return i%10 == 3 },
		"a hundred together": func(i int) bool { return i >= 300 && i < 400 },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				bad := map[string]bool{}
				s := &spoiled{Backend: store, answers: 5 * time.Millisecond, poisoned: func(name string) bool { return bad[name] }}
				l := locker(t, s)
				held := make([]*rowlock.Lease, leases)
				for i := range held {
					bad[fmt.Sprint(i)] = poisoned(i)
					held[i] = acquire(t, l, fmt.Sprint(i))
					time.Sleep(time.Millisecond)
				}
				time.Sleep(time.Minute)
				for i, lease := range held {
					if !poisoned(i) {
						require.NoError(t, lease.Err(), "lease %d", i)
						continue
					}
					var lost *rowlock.LostError
					require.ErrorAs(t, lease.Err(), &lost)
					require.ErrorIs(t, lost.Err, errSpoiled)
				}
				before := s.calls.Load()
				time.Sleep(time.Minute)
				assert.LessOrEqual(t, s.calls.Load()-before, int32(14), "after they are lost, one request for all others in each interval")
			})
		})
	}
}

// Promise 11 of docs/guarantees.md: the time limit of a request depends on the shortest TTL in the request. So a lease
// with a short TTL is not renewed in one request with many leases with long TTLs. In such a request, the renewals of
// the leases with long TTLs would time out.
func TestAShortLeaseDoesNotShortenTheRequestsOfOthers(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s := &slowRenewals{Backend: store}
		failed := 0
		l := locker(t, s, rowlock.TTL(6*time.Second), rowlock.Tracing(&rowlock.Trace{RenewalFailed: func(rowlock.RenewalFailedEvent) { failed++ }}))
		held := []*rowlock.Lease{acquire(t, l, "short", rowlock.TTL(200*time.Millisecond))}
		for i := range 4000 {
			held = append(held, acquire(t, l, fmt.Sprint(i)))
		}
		time.Sleep(time.Minute)
		for _, lease := range held {
			require.NoError(t, lease.Err(), lease.Name())
		}
		assert.Zero(t, failed)
	})
}

// slowRenewals is a store that takes 16 ms for a renewal request, plus 50 µs for each lease in the request.
type slowRenewals struct{ *memlock.Backend }

func (s *slowRenewals) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	select {
	case <-time.After(16*time.Millisecond + time.Duration(len(grants))*50*time.Microsecond):
		return s.Backend.Renew(ctx, grants)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Promise 10 of docs/guarantees.md: if every renewal fails, the leases are not renewed one by one. For a thousand
// leases, an outage of a whole TTL costs a few requests, whether the store returns errors at once or does not reply.
func TestAnOutageCostsFewRenewals(t *testing.T) {
	for name, fault := range map[string]memlock.Fault{
		"refused": {Fail: errSpoiled},
		"silent":  {LoseRequest: true},
		"slow":    {Reply: 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l := locker(t, store)
				for i := range 1000 {
					acquire(t, l, fmt.Sprint(i))
				}
				time.Sleep(time.Minute)
				faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: fault})
				before := store.Calls(memlock.OpRenew)
				for began := time.Now(); time.Since(began) < time.Minute && store.Calls(memlock.OpRenew)-before <= 60; {
					time.Sleep(time.Second)
				}
				assert.GreaterOrEqual(t, store.Calls(memlock.OpRenew)-before, 3, "they are retried")
				assert.LessOrEqual(t, store.Calls(memlock.OpRenew)-before, 60)
			})
		})
	}
}
