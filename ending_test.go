package rowlock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/memlock"
)

var errEnd = errors.New("it did not work")

// grantOf returns the grant of a lease, as the store knows it.
func grantOf(lease *rowlock.Lease) driver.Grant {
	return driver.Grant{Key: driver.Key{Name: lease.Name()}, Nonce: lease.Nonce(), Token: lease.Token(), MinHold: lease.MinHold()}
}

// If the function of ReleaseWith succeeds, the lease is released. Err reports the release, the context of the lease has ended,
// and the next waiter acquires the name. The library sends no release.
func TestReleaseWithIsARelease(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		var released []rowlock.ReleasedEvent
		l := locker(t, store, rowlock.TTL(ttl), rowlock.Tracing(&rowlock.Trace{Released: func(e rowlock.ReleasedEvent) { released = append(released, e) }}))
		lease := acquire(t, l, "a")
		next := waitFor(t, l, background)
		type key struct{}
		ctx := context.WithValue(background, key{}, 1)
		require.NoError(t, lease.ReleaseWith(ctx, func(ctx context.Context) error {
			found, ok := rowlock.FromContext(ctx)
			assert.True(t, ok)
			assert.Same(t, lease, found)
			assert.Equal(t, 1, ctx.Value(key{}))
			require.NoError(t, lease.Err())
			return store.Release(ctx, grantOf(lease))
		}))
		require.ErrorIs(t, lease.Err(), rowlock.ErrReleased)
		require.ErrorIs(t, context.Cause(lease.Context()), rowlock.ErrReleased)
		require.NoError(t, lease.Release(background))
		assert.Equal(t, 1, store.Calls(memlock.OpRelease), "only the release in the function")
		require.Len(t, released, 1)
		require.NoError(t, released[0].Err)
		got := receive(t, next)
		require.NoError(t, got.err)
		require.NoError(t, got.lease.Release(background))
	})
}

// If the function of ReleaseWith fails, the lease is renewed at once and continues.
func TestAFailedReleaseWithKeepsTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lease := acquire(t, locker(t, store, rowlock.TTL(ttl)), "a")
		require.Equal(t, errEnd, lease.ReleaseWith(background, func(context.Context) error { return errEnd }))
		synctest.Wait()
		assert.Equal(t, 1, store.Calls(memlock.OpRenew))
		require.Panics(t, func() { _ = lease.ReleaseWith(background, func(context.Context) error { panic("in the function") }) })
		synctest.Wait()
		assert.Equal(t, 2, store.Calls(memlock.OpRenew))
		time.Sleep(5 * ttl)
		require.NoError(t, lease.Err())
		require.NoError(t, lease.Release(background))
	})
}

// The function of ReleaseWith may end the lease and then fail. In that case the next renewal detects that the lease has ended.
func TestARenewalDetectsAReleaseWithOfUnknownOutcome(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lease := acquire(t, locker(t, store), "a")
		err := lease.ReleaseWith(background, func(ctx context.Context) error {
			require.NoError(t, store.Release(ctx, grantOf(lease)))
			return errEnd
		})
		require.ErrorIs(t, err, errEnd)
		if err != errEnd { // if the loss was already noticed, the error matches errEnd and the loss; otherwise it is errEnd
			require.Equal(t, oneline.Join(errEnd, lease.Err()), err)
		}
		synctest.Wait()
		require.ErrorIs(t, lease.Err(), rowlock.ErrLost)
	})
}

// No renewal is in progress while the function of ReleaseWith runs. ReleaseWith waits for a renewal in progress, and no new
// renewal begins.
func TestReleaseWithRacesWithNoRenewal(t *testing.T) {
	for name, renew := range map[string]func(*rowlock.Lease){
		"background": func(*rowlock.Lease) { time.Sleep(ttl/3 + time.Millisecond) },
		"by hand": func(lease *rowlock.Lease) {
			go lease.Renew(background) // the result does not matter, only the request to the store
			synctest.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				lease := acquire(t, locker(t, store, rowlock.TTL(ttl)), "a")
				const reply = 200 * time.Millisecond
				faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {Reply: reply}})
				renew(lease)
				before, start := store.Calls(memlock.OpRenew), time.Now()
				require.Equal(t, 1, before)
				require.NoError(t, lease.ReleaseWith(background, func(context.Context) error {
					assert.InDelta(t, reply, time.Since(start), float64(2*time.Millisecond))
					require.ErrorIs(t, lease.Renew(background), rowlock.ErrUnavailable, "not now")
					time.Sleep(ttl / 2)
					assert.Equal(t, before, store.Calls(memlock.OpRenew))
					return nil
				}))
			})
		})
	}
}

// ReleaseWith waits for a renewal in progress until ctx ends, or until the renewal reaches its own time limit.
func TestReleaseWithWaitsWithinABound(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lease := acquire(t, locker(t, store), "a")
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {LoseRequest: true}})
		time.Sleep(10*time.Second + time.Millisecond)
		ctx, cancel := context.WithTimeout(background, 100*time.Millisecond)
		defer cancel()
		err := lease.ReleaseWith(ctx, func(context.Context) error { panic("not to be called") })
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		start := time.Now()
		require.NoError(t, lease.ReleaseWith(background, func(context.Context) error { return nil }))
		assert.LessOrEqual(t, time.Since(start), 5*time.Second)
	})
}

// The lease can be lost while the function of ReleaseWith runs. Then the context of the function ends,
// and ReleaseWith reports the loss whatever the function returns.
func TestLostDuringReleaseWith(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(ttl))
		for _, said := range []error{errEnd, nil} {
			lease := acquire(t, l, "a")
			start := time.Now()
			err := lease.ReleaseWith(background, func(ctx context.Context) error {
				<-ctx.Done()
				require.ErrorIs(t, context.Cause(ctx), rowlock.ErrLost)
				return said
			})
			assert.Equal(t, trust, time.Since(start))
			require.ErrorIs(t, err, rowlock.ErrLost)
			if said != nil {
				require.ErrorIs(t, err, said)
			}
			require.ErrorIs(t, lease.Release(background), rowlock.ErrLost)
			err = lease.ReleaseWith(background, func(context.Context) error { panic("not to be called") })
			require.ErrorIs(t, err, rowlock.ErrLost)
			time.Sleep(ttl)
		}
	})
}

// Release and Close end the context of a ReleaseWith, and wait for its function for a limited time. They send a release unless
// the function has already ended the lease.
func TestReleaseDuringReleaseWith(t *testing.T) {
	for _, tt := range []struct {
		name  string
		said  error
		takes time.Duration // how long the function runs after its context has ended
		calls int           // expected calls of the store's Release
	}{{"ends it", nil, time.Millisecond, 0}, {"fails", errEnd, time.Millisecond, 1}, {"hangs", errEnd, time.Hour, 1}} {
		for how, release := range map[string]func(*rowlock.Locker, *rowlock.Lease) error{
			"Release": func(_ *rowlock.Locker, lease *rowlock.Lease) error { return lease.Release(background) },
			"Close":   func(l *rowlock.Locker, _ *rowlock.Lease) error { return l.Close() },
		} {
			t.Run(tt.name+"/"+how, func(t *testing.T) {
				bubble(t, func(t *testing.T, store *memlock.Backend) {
					l := locker(t, store, rowlock.TTL(12*time.Second)) // with this TTL the time limits of Release and Close differ
					lease := acquire(t, l, "a")
					done := make(chan error, 1)
					go func() {
						done <- lease.ReleaseWith(background, func(ctx context.Context) error {
							<-ctx.Done()
							assert.ErrorIs(t, context.Cause(ctx), rowlock.ErrReleased)
							time.Sleep(tt.takes)
							return tt.said
						})
					}()
					synctest.Wait()
					start := time.Now()
					require.NoError(t, release(l, lease))
					assert.LessOrEqual(t, time.Since(start), 5*time.Second)
					assert.Equal(t, tt.calls, store.Calls(memlock.OpRelease))
					if err := <-done; tt.said != nil {
						require.ErrorIs(t, err, tt.said)
						require.ErrorIs(t, err, rowlock.ErrReleased)
					} else {
						require.NoError(t, err)
					}
				})
			})
		}
	}
}

// A second ReleaseWith of a lease fails at once, while the first ReleaseWith runs and also after the release.
func TestReleaseWithHappensOnce(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lease := acquire(t, locker(t, store), "a")
		never := func(context.Context) error { panic("not to be called") }
		require.NoError(t, lease.ReleaseWith(background, func(ctx context.Context) error {
			require.ErrorIs(t, lease.ReleaseWith(ctx, never), rowlock.ErrUnavailable)
			return nil
		}))
		require.ErrorIs(t, lease.ReleaseWith(background, never), rowlock.ErrReleased)
	})
}
