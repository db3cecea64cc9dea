package clockstep_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/sqllock"
)

const hour = rowlock.Token(time.Hour / time.Microsecond)

// If a database's clock is set forward, leases end early: a second holder acquires the name while the first still
// trusts its lease. The second has a larger token. The fence rejects all further writes of the first holder.
// The first holder notices the loss at its next renewal.
//
// If the clock is set back, no lease ends early, and no lease that has ended becomes valid again. A renewal extends a
// lease by the requested time, counted from the clock's new time. No other process can acquire the name of a lease.
// Tokens rise, also for names whose rows were pruned. A released name is free at once, whether it was released before
// the step or after. The name of a dead holder may stay unavailable for as long as the clock was set back. A name with
// a minimum hold may also stay unavailable for that long. A forced release makes both kinds of names available.
func TestClockSteps(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		t.Run("forward", s.forward)
		t.Run("back", s.back)
	})
}

func (s *store) locker(t *testing.T, guard *fence.Guard) *rowlock.Locker {
	t.Helper()
	// The renewal interval is so long that no lease is renewed in the background. Only the test renews.
	l, err := rowlock.New(s.backend(s.db), rowlock.Fenced(guard), rowlock.TTL(time.Minute), rowlock.RenewEvery(29*time.Second))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func (s *store) forward(t *testing.T) {
	guard := s.guard(s.db)
	first, err := s.locker(t, guard).TryAcquire(t.Context(), "forward")
	require.NoError(t, err)
	require.NoError(t, s.write(t, guard, first))
	s.step(t, time.Hour)
	second, err := s.locker(t, guard).TryAcquire(t.Context(), "forward")
	require.NoError(t, err, "by the store's clock the lease is over")
	require.NoError(t, first.Err(), "the holder cannot know yet")
	assert.Greater(t, second.Token(), first.Token()+hour/2)

	require.NoError(t, s.write(t, guard, second))
	require.ErrorIs(t, s.write(t, guard, first), fence.ErrStale)
	require.ErrorIs(t, first.Renew(t.Context()), rowlock.ErrLost)
	require.ErrorIs(t, first.Release(t.Context()), rowlock.ErrLost)
	require.NoError(t, second.Renew(t.Context()))
	assert.LessOrEqual(t, time.Until(second.ExpiresAt()), s.left(t, "forward"), "no holder trusts its lease longer than the store grants it")
	require.NoError(t, second.Release(t.Context()))
}

// write runs one checked transaction with the lease.
func (s *store) write(t *testing.T, guard *fence.Guard, lease *rowlock.Lease) error {
	t.Helper()
	tx, err := s.db.BeginTx(t.Context(), &sql.TxOptions{})
	require.NoError(t, err)
	if err := guard.Check(lease.Context(), tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// left returns the remaining time of the lease in the store.
func (s *store) left(t *testing.T, name string) time.Duration {
	t.Helper()
	status, err := s.backend(s.db).Inspect(t.Context(), driver.Key{Name: name})
	require.NoError(t, err)
	require.Equal(t, driver.StateHeld, status.State)
	return status.ExpiresIn
}

func (s *store) back(t *testing.T) {
	b := s.backend(s.db)
	s.step(t, time.Hour)
	forgotten := s.acquire(t, b, "forgotten")
	require.NoError(t, b.Release(t.Context(), forgotten))
	n, err := b.Prune(t.Context(), 0)
	require.NoError(t, err)
	require.Positive(t, n)
	kept, crashed, released, forced := s.acquire(t, b, "kept"), s.acquire(t, b, "crashed"), s.acquire(t, b, "released"), s.acquire(t, b, "forced")
	require.NoError(t, b.Release(t.Context(), released))
	require.NoError(t, b.ForceRelease(t.Context(), forced.Key, forced.Token, true))
	closed, err := b.Acquire(t.Context(), withMinHold("closed"))
	require.NoError(t, err)
	require.NoError(t, b.Release(t.Context(), closed))
	late, err := b.Acquire(t.Context(), withMinHold("late"))
	require.NoError(t, err)
	committed := s.releasedOnCommit(t, "committed")
	s.inTx(t, b, "never granted")
	reserved := s.reserved(t, b, "reserved")

	s.step(t, 0)
	n, err = b.Prune(t.Context(), 0)
	require.NoError(t, err)
	require.Zero(t, n, "by the clock no name has been unused for any time")
	assert.Greater(t, s.acquire(t, b, "forgotten").Token, forgotten.Token)
	outcomes, err := b.Renew(t.Context(), []driver.Grant{kept})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	assert.InDelta(t, 30, s.left(t, "kept").Seconds(), 20, "a lease is as long as requested")
	assert.Less(t, s.freeIn(t, "kept"), time.Minute, "and keeps the name unavailable no longer")
	for _, g := range []driver.Grant{kept, crashed, closed} {
		_, err := b.Acquire(t.Context(), request(g.Key.Name))
		var held *driver.Held
		require.ErrorAs(t, err, &held)
		assert.Positive(t, held.ExpiresIn, g.Key.Name)
	}
	require.NoError(t, b.Release(t.Context(), kept))
	require.NoError(t, b.Release(t.Context(), late))
	assert.InDelta(t, time.Minute.Seconds(), s.freeIn(t, "late").Seconds(), 20, "a minimum hold is no longer than requested")
	for _, g := range []driver.Grant{kept, released, forced, committed} {
		assert.Greater(t, s.acquire(t, b, g.Key.Name).Token, g.Token, g.Key.Name)
	}
	s.inTx(t, b, "never granted")
	s.acquire(t, b, "never granted")
	require.Positive(t, s.freeIn(t, "reserved"))
	require.NoError(t, b.ForceRelease(t.Context(), reserved.Key, reserved.Token, true), "the waiter never acquires it")
	// The lock may stay reserved for the waiter for a moment after the forced release. A reservation ends some time
	// after the waiter's last poll, and after the clock was set back, the time of that poll is in the future.
	require.Eventually(t, func() bool {
		g, err := b.Acquire(t.Context(), request("reserved"))
		return err == nil && g.Token > reserved.Token
	}, time.Minute, 5*time.Millisecond)
	for _, g := range []driver.Grant{crashed, closed, late} {
		assert.Greater(t, s.open(t, b, g.Key.Name).Token, g.Token, g.Key.Name)
	}
}

// releasedOnCommit acquires a lock, releases it with guard.ReleaseOnCommit, and returns its grant.
func (s *store) releasedOnCommit(t *testing.T, name string) driver.Grant {
	t.Helper()
	guard := s.guard(s.db)
	lease, err := s.locker(t, guard).TryAcquire(t.Context(), name)
	require.NoError(t, err)
	require.NoError(t, guard.ReleaseOnCommit(lease.Context(), func(context.Context, *sql.Tx) error { return nil }))
	return driver.Grant{Key: driver.Key{Name: name}, Token: lease.Token()}
}

// reserved releases a lock while another backend waits for it. The release reserves the lock for that waiter,
// which never acquires it.
func (s *store) reserved(t *testing.T, b *sqllock.Backend, name string) driver.Grant {
	t.Helper()
	g := s.acquire(t, b, name)
	waiter := s.backend(s.db)
	stop, err := waiter.Notify(t.Context(), g.Key, func() {})
	require.NoError(t, err)
	t.Cleanup(func() {
		stop()
		waiter.CloseIdle(context.Background())
	})
	r := request(name)
	r.Waiting = true
	_, err = waiter.Acquire(t.Context(), r)
	require.ErrorAs(t, err, new(*driver.Held))
	require.NoError(t, b.Release(t.Context(), g))
	return g
}

// inTx locks a name with InTx and commits.
func (s *store) inTx(t *testing.T, b *sqllock.Backend, name string) {
	t.Helper()
	tx, err := s.db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, b.InTx(t.Context(), tx, name))
	require.NoError(t, tx.Commit())
}

// freeIn returns after how much time the store makes the name available again.
func (s *store) freeIn(t *testing.T, name string) time.Duration {
	t.Helper()
	status, err := s.backend(s.db).Inspect(t.Context(), driver.Key{Name: name})
	require.NoError(t, err)
	return status.FreeIn
}

func withMinHold(name string) driver.Request {
	r := request(name)
	r.MinHold = time.Minute
	return r
}

// open acquires a name. If the name is held, open first uses ForceRelease.
func (s *store) open(t *testing.T, b *sqllock.Backend, name string) driver.Grant {
	t.Helper()
	g, err := b.Acquire(t.Context(), request(name))
	var held *driver.Held
	if errors.As(err, &held) {
		require.NoError(t, b.ForceRelease(t.Context(), driver.Key{Name: name}, held.Token, true))
		return s.acquire(t, b, name)
	}
	require.NoError(t, err)
	return g
}

func (s *store) acquire(t *testing.T, b *sqllock.Backend, name string) driver.Grant {
	t.Helper()
	g, err := b.Acquire(context.Background(), request(name))
	require.NoError(t, err, name)
	return g
}

func request(name string) driver.Request {
	return driver.Request{Key: driver.Key{Name: name}, Nonce: driver.NewNonce(), TTL: 30 * time.Second, Holder: "tester"}
}
