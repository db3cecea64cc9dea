package rowlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// stateOf returns the state of a name in the store.
func stateOf(t *testing.T, store *memlock.Backend, name string) driver.State {
	t.Helper()
	status, err := store.Inspect(t.Context(), driver.Key{Name: name})
	require.NoError(t, err)
	return status.State
}

// During a pause nobody can acquire the name, even after the process that paused the name has ended. The error of a refused
// caller says who paused the name and why. Only Resume ends the pause.
func TestPauseClosesUntilResume(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		operator := locker(t, store, rowlock.Holder("ann@desk"), rowlock.MinHold(time.Minute))
		token, err := operator.Pause(t.Context(), "a", "month end")
		require.NoError(t, err)
		require.NoError(t, operator.Close())
		time.Sleep(30 * 24 * time.Hour)

		l := locker(t, store)
		_, err = l.TryAcquire(t.Context(), "a")
		var held *rowlock.HeldError
		require.ErrorAs(t, err, &held)
		assert.Equal(t, driver.Paused, held.Reason)
		assert.Equal(t, "month end", held.Note)
		assert.Equal(t, token, held.Token)
		assert.Regexp(t, `^"a" is paused by ann@desk since 2000-01-01 00:00:00 UTC \(token \d+\): month end$`, err.Error())
		_, err = l.Pause(t.Context(), "a", "again", rowlock.Wait(0))
		require.ErrorIs(t, err, rowlock.ErrHeld)

		waited := make(chan error, 1)
		go func() {
			lease, err := l.Acquire(background, "a")
			if err == nil {
				assert.Greater(t, lease.Token(), token)
				err = lease.Release(background)
			}
			waited <- err
		}()
		synctest.Wait()
		assert.Empty(t, waited)
		require.ErrorIs(t, l.Resume(t.Context(), "a", token+1), rowlock.ErrNotPaused)
		require.NoError(t, l.Resume(t.Context(), "a", token))
		require.NoError(t, receive(t, waited))
		err = l.Resume(t.Context(), "a", 0)
		require.ErrorIs(t, err, rowlock.ErrNotPaused)
		require.ErrorIs(t, err, rowlock.ErrNotHeld)
	})
}

// Pause waits for the holder for a limited time, and Resume does not affect the holder.
func TestPauseWaitsForTheHolder(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, operator := locker(t, store), locker(t, store)
		lease := acquire(t, l, "a")
		_, err := operator.Pause(t.Context(), "a", "why", rowlock.Wait(time.Minute))
		var held *rowlock.HeldError
		require.ErrorAs(t, err, &held)
		assert.Equal(t, driver.Leased, held.Reason)
		require.ErrorIs(t, operator.Resume(t.Context(), "a", 0), rowlock.ErrNotPaused)
		require.NoError(t, lease.Err())

		done := make(chan error, 1)
		go func() {
			_, err := operator.Pause(background, "a", "why")
			done <- err
		}()
		synctest.Wait()
		require.NoError(t, lease.Release(background))
		require.NoError(t, receive(t, done))
		assert.Equal(t, driver.StatePaused, stateOf(t, store, "a"))
	})
}

// If the reply to a request to pause is lost, the request is repeated. The repeated request finds the same pause.
func TestAPauseIsRepeated(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		store.LoseReply(memlock.OpPause)
		token, err := locker(t, store).Pause(t.Context(), "a", "why")
		require.NoError(t, err)
		assert.Equal(t, 2, store.Calls(memlock.OpPause))
		require.NoError(t, locker(t, store).Resume(t.Context(), "a", token))
	})
}

// If the store does not reply to a request to pause, the outcome is unknown. Pause then tries to release the name. If
// the release succeeds, the name is not paused. Whatever the outcome, the name is paused or free, and nobody has to
// wait for a TTL.
func TestPauseOfUnknownOutcome(t *testing.T) {
	for name, test := range map[string]struct {
		fault memlock.Fault
		kind  error
		state driver.State
	}{
		"replies lost":   {memlock.Fault{LoseReply: true}, rowlock.ErrUnknown, driver.StatePaused},
		"requests lost":  {memlock.Fault{LoseRequest: true}, rowlock.ErrUnavailable, driver.StateFree},
		"requests late":  {memlock.Fault{Request: time.Hour, Late: true}, rowlock.ErrUnavailable, driver.StateFree},
		"refused":        {memlock.Fault{Fail: driver.NotApplied(errors.New("full"))}, rowlock.ErrUnavailable, driver.StateFree},
		"refused always": {memlock.Fault{Fail: driver.Permanent(errors.New("no right"))}, rowlock.ErrUnavailable, driver.StateFree},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				faults(store, map[memlock.Op]memlock.Fault{memlock.OpPause: test.fault})
				began := time.Now()
				_, err := locker(t, store, rowlock.TTL(time.Hour)).Pause(t.Context(), "a", "why")
				require.ErrorIs(t, err, test.kind)
				assert.Less(t, time.Since(began), time.Minute)
				time.Sleep(2 * time.Hour) // long enough for late requests to arrive
				assert.Equal(t, test.state, stateOf(t, store, "a"))
			})
		})
	}
}

// If an operator ends the lease before the pause, Pause reports a loss, and the name is not paused.
func TestPauseOfALostName(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.Tracing(&rowlock.Trace{Acquired: func(rowlock.AcquiredEvent) { store.Lose("a") }}))
		_, err := l.Pause(t.Context(), "a", "why")
		require.ErrorIs(t, err, rowlock.ErrLost)
		assert.Equal(t, driver.StateFree, stateOf(t, store, "a"))
	})
}

// Pause and Resume report an invalid reason, an invalid name, and a backend that cannot pause.
func TestPauseRejectsInvalidArguments(t *testing.T) {
	l := locker(t, memlock.New())
	for reason, want := range map[string]string{
		"": "the reason of the pause is empty", strings.Repeat("x", 1025): "the reason of the pause, \"xxx", "\xff": "not valid UTF-8",
	} {
		_, err := l.Pause(t.Context(), "a", reason)
		require.ErrorContains(t, err, want)
	}
	_, err := l.Pause(t.Context(), "", "why")
	require.ErrorContains(t, err, "name is empty")
	require.ErrorContains(t, l.Resume(t.Context(), "", 0), "name is empty")

	l = locker(t, struct{ driver.Backend }{memlock.New()})
	_, err = l.Pause(t.Context(), "a", "why")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorIs(t, l.Resume(t.Context(), "a", 0), errors.ErrUnsupported)
}

// If two callers resume at the same time, one of them gets ErrNotPaused.
func TestTwoResumeAtTheSameTime(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		_, err := locker(t, store).Pause(t.Context(), "a", "why")
		require.NoError(t, err)
		late := overtaken{store, func() { require.NoError(t, locker(t, store).Resume(background, "a", 0)) }}
		require.ErrorIs(t, locker(t, late).Resume(t.Context(), "a", 0), rowlock.ErrNotPaused)
		assert.Equal(t, driver.StateFree, stateOf(t, store, "a"))
	})
}

// overtaken is a store that calls a function of the test after each inspection. The function can change the state
// of the lock.
type overtaken struct {
	*memlock.Backend

	by func()
}

func (o overtaken) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	status, err := o.Backend.Inspect(ctx, key)
	o.by()
	return status, err
}

// If the store is unreachable, Resume reports an unavailable store. It does not report that the name is not paused.
func TestResumeWithAnUnreachableStore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	away := errors.New("away")
	err := locker(t, unseeing{memlock.New(), away}).Resume(ctx, "a", 0)
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	require.ErrorIs(t, err, away)
}

type unseeing struct {
	*memlock.Backend

	err error
}

func (u unseeing) Inspect(context.Context, driver.Key) (driver.Status, error) {
	return driver.Status{}, u.err
}

// If the request to resume fails, the error says whether the request had no effect or an unknown outcome.
func TestResumeThatFails(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		_, err := locker(t, store).Pause(t.Context(), "a", "why")
		require.NoError(t, err)
		broken := errors.New("broken pipe")
		for want, err := range map[error]error{rowlock.ErrUnavailable: driver.NotApplied(broken), rowlock.ErrUnknown: broken} {
			err := locker(t, closing{store, err}).Resume(t.Context(), "a", 0)
			require.ErrorIs(t, err, want)
			require.ErrorIs(t, err, broken)
			assert.Equal(t, driver.StatePaused, stateOf(t, store, "a"))
		}
		require.Error(t, locker(t, store).Resume(t.Context(), "a", 0, rowlock.TTL(-1)), "an option cannot work")
		assert.Equal(t, driver.StatePaused, stateOf(t, store, "a"))
	})
}

// closing is a store that rejects every forced release.
type closing struct {
	*memlock.Backend

	err error
}

func (c closing) ForceRelease(context.Context, driver.Key, driver.Token, bool) error { return c.err }
