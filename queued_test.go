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
	"github.com/rowlock/rowlock/memlock"
)

// slow is a store that grants after a long wait in its queue, and is then unreachable.
type slow struct {
	*memlock.Backend

	away func() // the store calls this function after the grant
	gone int    // the number of releases that fail
}

func (s *slow) Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	for {
		g, err := s.Acquire(ctx, r)
		if err == nil {
			s.away()
			return g, nil
		}
		ctx = wait(nil)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return g, err
		}
	}
}

func (s *slow) Renew(context.Context, []driver.Grant) ([]driver.Outcome, error) {
	return nil, driver.NotApplied(errors.New("no connection"))
}

func (s *slow) Release(ctx context.Context, g driver.Grant) error {
	if s.gone > 0 {
		s.gone--
		return driver.NotApplied(errors.New("no connection"))
	}
	return s.Backend.Release(ctx, g)
}

// Promise 5 of docs/guarantees.md: a caller may give up while it confirms a grant after a long wait. In that case the
// grant is released, even if the renewal that was to confirm the grant certainly had no effect. The release is retried
// until the store replies.
func TestAQueuedGrantWithoutConfirmationIsReleased(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		ctx, giveUp := context.WithCancel(background)
		waiter := locker(t, &slow{store, giveUp, 3}, rowlock.TTL(ttl))
		holder := locker(t, store, rowlock.TTL(ttl))
		lease := acquire(t, holder, "a")
		time.AfterFunc(2*ttl, func() { assert.NoError(t, lease.Release(background)) })
		_, err := waiter.Acquire(ctx, "a")
		require.ErrorIs(t, err, context.Canceled)
		time.Sleep(ttl / 2)
		synctest.Wait()
		status, err := store.Inspect(background, driver.Key{Name: "a"})
		require.NoError(t, err)
		assert.Equal(t, driver.StateFree, status.State, "the name is free")
	})
}

// robbed is the same store as the type slow, except that its renewals succeed.
type robbed struct{ *slow }

func (r robbed) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	return r.Backend.Renew(ctx, grants)
}

// Promise 2 of docs/guarantees.md: if a grant has ended before its confirmation, the grant is not trusted. The waiter
// sends another request.
func TestAGrantThatIsGoneAfterALongWaitIsNotTrusted(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		gone := 0
		s := &slow{Backend: store, away: func() {
			if gone++; gone == 1 {
				store.Lose("a")
			}
		}}
		holder := acquire(t, locker(t, store, rowlock.TTL(ttl)), "a")
		time.AfterFunc(2*ttl, func() { assert.NoError(t, holder.Release(background)) })
		lease, _ := acquireWithin(t, 3*ttl, locker(t, robbed{s}, rowlock.TTL(ttl)), "a")
		require.Positive(t, gone, "the grant was lost")
		status, err := store.Inspect(background, driver.Key{Name: "a"})
		require.NoError(t, err)
		assert.Equal(t, driver.StateHeld, status.State)
		assert.Equal(t, lease.Token(), status.Token)
		assert.LessOrEqual(t, time.Until(lease.ExpiresAt()), status.ExpiresIn)
	})
}
