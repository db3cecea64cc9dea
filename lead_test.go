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

// A term ends when the function run returns. Lead then returns the error of run, and the name is free.
func TestLeadEndsWithItsRun(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		failed := errors.New("failed")
		for _, want := range []error{nil, failed} {
			require.Equal(t, want, rowlock.Lead(background, l, "a", func(ctx context.Context, lease *rowlock.Lease) error {
				found, ok := rowlock.FromContext(ctx)
				assert.True(t, ok)
				assert.Same(t, lease, found)
				assert.Equal(t, driver.StateHeld, list(t, store)[0].State)
				return want
			}))
			assert.Equal(t, driver.StateFree, list(t, store)[0].State)
		}
		assert.Panics(t, func() {
			_ = rowlock.Lead(background, l, "a", func(context.Context, *rowlock.Lease) error { panic("bug") })
		})
		assert.Equal(t, driver.StateFree, list(t, store)[0].State, "a panic releases the name")
	})
}

// A leader's ctx ends when the leader's trust ends, even if the store does not reply. Lead then waits for the name
// again and gets a larger token. It ignores what run returned for the lost term.
func TestLeadStepsDownAndCampaignsAgain(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(ttl))
		var terms []rowlock.Token
		require.NoError(t, rowlock.Lead(background, l, "a", func(ctx context.Context, lease *rowlock.Lease) error {
			terms = append(terms, lease.Token())
			switch len(terms) {
			case 1:
				faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {LoseRequest: true}})
				took := until(t, ctx.Done())
				assert.Less(t, took, ttl, "before another candidate can acquire the name")
				require.ErrorIs(t, context.Cause(ctx), rowlock.ErrLost)
				store.Intercept(nil)
				return errors.New("the work was cut off")
			case 2:
				store.Lose("a")
				until(t, ctx.Done())
				return nil
			case 3:
				store.Lose("a") // the function run returns before it notices the loss
				return nil
			default:
				return nil
			}
		}))
		require.Len(t, terms, 4)
		assert.IsIncreasing(t, terms)
	})
}

// One of many candidates leads. When the leader is cut off, another candidate takes over, but only after the ctx of
// the first leader has ended.
func TestLeadersNeverOverlap(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		var leading atomic.Int32
		terms := make(chan *rowlock.Lease)
		ended := make(chan error)
		for range 3 {
			l := locker(t, store, rowlock.TTL(ttl))
			go func() {
				ended <- rowlock.Lead(ctx, l, "a", func(ctx context.Context, lease *rowlock.Lease) error {
					assert.EqualValues(t, 1, leading.Add(1))
					terms <- lease
					<-ctx.Done()
					leading.Add(-1)
					return ctx.Err()
				})
			}()
		}
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {LoseRequest: true}}) // cuts off the leader, because only a leader sends renewals
		for range 10 {
			<-terms
		}
		cancel()
		for range 3 {
			require.ErrorIs(t, <-ended, context.Canceled)
		}
		time.Sleep(time.Second) // if a candidate was granted the name at that moment, the grant is released in the background
		assert.Equal(t, driver.StateFree, list(t, store)[0].State, "released when ctx ended")
	})
}

// If the ctx of a candidate ends, the error names the leader. The option Wait does not limit how long a candidate waits.
func TestLeadNamesTheLeader(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		acquire(t, locker(t, store, rowlock.Holder("web-1")), "a")
		ctx, cancel := context.WithTimeout(background, time.Hour)
		defer cancel()
		start := time.Now()
		err := rowlock.Lead(ctx, locker(t, store, rowlock.Wait(0)), "a", nil, rowlock.Wait(time.Second))
		assert.Equal(t, time.Hour, time.Since(start))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var held *rowlock.HeldError
		require.ErrorAs(t, err, &held)
		assert.Equal(t, "web-1", held.Holder)
	})
}

// A candidate retries while a guard's database is unreachable, and while an older transaction is open. Lead returns an error that
// a retry cannot fix.
func TestLeadOutlastsTheGuard(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		back := time.Now().Add(time.Hour)
		stale := errors.New("not the newest holder")
		var end error
		sealed := 0
		guard := seal(func(context.Context, *rowlock.Lease) error {
			sealed++
			if time.Now().Before(back) {
				return fmt.Errorf("no answer: %w", rowlock.ErrUnavailable)
			}
			return end
		})
		l := locker(t, store, rowlock.TTL(ttl), rowlock.Fenced(guard))
		terms := 0
		run := func(context.Context, *rowlock.Lease) error { terms++; return nil }
		require.NoError(t, rowlock.Lead(background, l, "a", run))
		assert.Equal(t, 1, terms)
		assert.Less(t, time.Since(back), 10*time.Second)
		assert.Less(t, sealed, 3600, "times in an hour")
		end = stale
		require.ErrorIs(t, rowlock.Lead(background, l, "a", run), stale)
		assert.Equal(t, 1, terms)
	})
}

// A candidate retries at a limited rate while the store is unreachable. If the set-up is wrong, Lead returns the error. After the
// store has replied once, Lead retries instead, because a failover to a read-only server causes the same error.
func TestLeadOutlastsTheStore(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(ttl))
		away := errors.New("connection refused")
		wrong := driver.Permanent(errors.New("no such table"))
		terms := 0
		run := func(ctx context.Context, _ *rowlock.Lease) error {
			if terms++; terms == 1 {
				faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {Fail: wrong}})
				time.AfterFunc(time.Hour, func() { store.Intercept(nil) })
				store.Lose("a")
				<-ctx.Done()
			}
			return nil
		}

		faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {Fail: away}})
		time.AfterFunc(time.Hour, func() { store.Intercept(nil) })
		start := time.Now()
		require.NoError(t, rowlock.Lead(background, l, "a", run))
		assert.Equal(t, 2, terms)
		assert.Less(t, time.Since(start), 2*time.Hour+time.Minute)
		assert.Less(t, store.Calls(memlock.OpAcquire), 3*3600, "requests in two hours")

		faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {Fail: wrong}})
		require.ErrorIs(t, rowlock.Lead(background, l, "a", run), rowlock.ErrUnavailable)
		require.ErrorContains(t, rowlock.Lead(background, l, "", run), "name")
		require.NoError(t, l.Close())
		require.ErrorIs(t, rowlock.Lead(background, l, "a", run), rowlock.ErrClosed)
	})
}
