package rowlock

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/memlock"
)

// Promise 2: loss latches. A process is paused while a renewal is under way: its reply says that the store has renewed,
// for longer than it is now, and is seen before any timer fires. The deadline that passed meanwhile has ended trust for good.
func TestAReplyAfterAPauseRevivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 3 * time.Second
		var paused atomic.Int64
		store := memlock.New()
		l, err := newLocker(store, func() instant {
			i := systemClock()
			i.at = i.at.Add(time.Duration(paused.Load())) // both clocks went on, and no timer has fired
			return i
		}, []Option{TTL(ttl), RenewEvery(ttl / 2)})
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		lease, err := l.Acquire(t.Context(), "a")
		require.NoError(t, err)
		time.Sleep(ttl / 3)
		store.Intercept(func(memlock.Call) memlock.Fault { return memlock.Fault{Reply: 100 * time.Millisecond} })
		time.AfterFunc(50*time.Millisecond, func() { paused.Store(int64(2 * time.Second)) })
		require.ErrorIs(t, lease.Renew(t.Context()), ErrLost)
		require.ErrorIs(t, lease.Err(), ErrLost)
	})
}
