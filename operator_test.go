package rowlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// An operator sees who holds a name, and can end the lease by its token. If no lease has this token,
// the operator gets an error. The holder detects that its lease has ended.
func TestOperatorOfALocker(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		holder, ops := locker(t, store, rowlock.Holder("job-1")), locker(t, store)
		free, err := ops.Status(background, "a")
		require.NoError(t, err)
		assert.Equal(t, rowlock.Status{Key: driver.Key{Name: "a"}}, free)

		lease := acquire(t, holder, "a", rowlock.Note("month end"))
		acquire(t, holder, "b", rowlock.Namespace("other"))
		time.Sleep(time.Second)
		held, err := ops.Status(background, "a")
		require.NoError(t, err)
		assert.Equal(t, driver.StateHeld, held.State)
		assert.Equal(t, "job-1", held.Holder)
		assert.Equal(t, "month end", held.Note)
		assert.Equal(t, time.Second, held.Age)
		list, err := ops.List(background)
		require.NoError(t, err)
		assert.Equal(t, []rowlock.Status{held}, list)
		list, err = ops.List(background, rowlock.Namespace("other"))
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, "b", list[0].Key.Name)

		err = ops.ForceRelease(background, "a", lease.Token()+1)
		require.ErrorIs(t, err, rowlock.ErrNotHeld)
		assert.EqualError(t, err, `rowlock: force release of "a": rowlock: not held`)
		require.NoError(t, ops.ForceRelease(background, "a", lease.Token()))
		next := acquire(t, ops, "a")
		assert.Greater(t, next.Token(), lease.Token())
		require.ErrorIs(t, lease.Renew(background), rowlock.ErrLost)
		require.NoError(t, next.Release(background))

		n, err := ops.Prune(background, time.Minute)
		require.NoError(t, err)
		assert.Zero(t, n)
		time.Sleep(time.Minute)
		n, err = ops.Prune(background, time.Minute)
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		_, err = ops.Prune(background, -1)
		require.ErrorContains(t, err, "Prune(-1ns): must not be negative")
		_, err = ops.Status(background, "")
		require.ErrorContains(t, err, "name is empty")
	})
}

// failing is a backend whose methods of driver.Operator fail, or hang until ctx ends.
type failing struct {
	*memlock.Backend
	err error
}

func (f failing) fail(ctx context.Context) error {
	if f.err == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.err
}

func (f failing) Inspect(ctx context.Context, _ driver.Key) (driver.Status, error) {
	return driver.Status{}, f.fail(ctx)
}

func (f failing) List(ctx context.Context, _ string, _ bool) ([]driver.Status, error) {
	return nil, f.fail(ctx)
}

func (f failing) ForceRelease(ctx context.Context, _ driver.Key, _ driver.Token, _ bool) error {
	return f.fail(ctx)
}

func (f failing) Prune(ctx context.Context, _ time.Duration) (int, error) { return 0, f.fail(ctx) }

// Promise 6 of docs/guarantees.md: if an inspection fails, the error says that the store is unavailable. If a change
// gets no answer, its outcome is unknown. No call lasts longer than ten seconds.
func TestOperatorClassifiesErrors(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		err           error
		reads, writes error
	}{
		"not applied": {driver.NotApplied(broken), rowlock.ErrUnavailable, rowlock.ErrUnavailable},
		"unknown":     {broken, rowlock.ErrUnavailable, rowlock.ErrUnknown},
		"hangs":       {nil, rowlock.ErrUnavailable, rowlock.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l := locker(t, failing{store, test.err})
				for call, f := range map[string]struct {
					want error
					f    func() error
				}{
					`status of "a": `:        {test.reads, func() error { _, err := l.Status(background, "a"); return err }},
					"list: ":                 {test.reads, func() error { _, err := l.List(background); return err }},
					`force release of "a": `: {test.writes, func() error { return l.ForceRelease(background, "a", 1) }},
					"prune: ":                {test.writes, func() error { _, err := l.Prune(background, time.Hour); return err }},
					`resume "a": `:           {test.reads, func() error { return l.Resume(background, "a", 0) }},
				} {
					begun := time.Now()
					err := f.f()
					require.ErrorIs(t, err, f.want, call)
					assert.ErrorContains(t, err, "rowlock: "+call)
					assert.LessOrEqual(t, time.Since(begun), 10*time.Second)
				}
			})
		})
	}
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		_, err := locker(t, struct{ driver.Backend }{store}).Status(background, "a")
		require.ErrorIs(t, err, errors.ErrUnsupported)
	})
}
