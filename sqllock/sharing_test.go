package sqllock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// readAndWrite lets readers and writers of three backends compete for one lock. At first, two readers hold the lock
// together, so that the test always covers a shared lock. Writers set the field Waits of their requests, as waiters do.
// So they are granted the lock although readers overlap.
func readAndWrite(t *testing.T, open func() driver.Backend, rounds int) {
	t.Helper()
	var h board
	one, two := open(), open()
	met := []driver.Grant{}
	for _, b := range []driver.Backend{one, two} {
		g, err := b.Acquire(t.Context(), reading("job"))
		require.NoError(t, err)
		h.enter(t, g)
		met = append(met, g)
	}
	var wg sync.WaitGroup
	hold := func(b driver.Backend, ask func(string) driver.Request) {
		wg.Go(func() {
			for range rounds {
				r := ask("job")
				r.Waits = true
				g, ok := insist(t, func() (driver.Grant, error) { return b.Acquire(t.Context(), r) })
				if !ok {
					return
				}
				h.enter(t, g)
				if outcomes, err := b.Renew(t.Context(), []driver.Grant{g}); err == nil {
					assert.NotContains(t, outcomes, driver.Lost) // the outcome is unknown if others have the row locked for long
				} else {
					assert.True(t, driver.IsNotApplied(err), "%v", err)
				}
				h.leave(g)
				releaseAtLast(t, b, g)
			}
		})
	}
	for _, b := range []driver.Backend{one, two, open()} {
		hold(b, reading)
		hold(b, reading)
		hold(b, request)
	}
	for i, b := range []driver.Backend{one, two} {
		h.leave(met[i])
		releaseAtLast(t, b, met[i]) // not require: the goroutines must not outlive the test
	}
	wg.Wait()
	assert.Zero(t, h.readers+h.writers)
	assert.GreaterOrEqual(t, h.together, 2)
	t.Logf("at most %d readers at once; %d readers joined others", h.together, h.joins)
}

// Six readers and three writers on three pools compete for one lock. No writer holds the lock beside another holder,
// readers that hold it at the same time have one token, and the tokens of readers and writers rise in the order of
// their grants.
func TestReadersNeverOverlapWriters(t *testing.T) {
	eachSetting(t, func(t *testing.T, s *store) {
		rounds := s.rounds(t)
		readAndWrite(t, func() driver.Backend { return s.open() }, rounds)
	})
}

// After a writer's release, all readers that wait in several processes acquire the lock. Each of them holds the lock
// until all have acquired it.
func TestAllWaitingReadersGetIn(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		ctx := limited(t)
		writer, err := rowlock.New(s.open())
		require.NoError(t, err)
		defer writer.Close() //nolint:errcheck // nothing is held
		lease, err := writer.Acquire(ctx, "job")
		require.NoError(t, err)
		const processes, each = 4, 4
		waits := make(chan struct{}, processes*each)
		held := make(chan driver.Token, processes*each)
		all := make(chan struct{})
		var wg sync.WaitGroup
		for range processes {
			l, err := rowlock.New(s.open(), rowlock.Shared())
			require.NoError(t, err)
			defer l.Close() //nolint:errcheck // nothing is held
			for range each {
				wg.Go(func() {
					le, err := l.Acquire(ctx, "job", rowlock.Tracing(&rowlock.Trace{Waiting: func(rowlock.WaitingEvent) { waits <- struct{}{} }}))
					if !assert.NoError(t, err) {
						return
					}
					held <- le.Token()
					<-all
					assert.NoError(t, le.Release(context.WithoutCancel(ctx)))
				})
			}
		}
		for range processes * each {
			happens(t, waits, "a reader waits")
		}
		start := time.Now()
		require.NoError(t, lease.Release(ctx))
		var token driver.Token
		for i := range processes * each {
			select {
			case got := <-held:
				if i == 0 {
					token = got
				}
				assert.Equal(t, token, got, "all readers have one token")
			case <-ctx.Done():
				assert.Fail(t, "a waiting reader does not get in", "%d of %d did", i, processes*each)
			}
		}
		t.Logf("%d readers acquired the lock within %s", processes*each, time.Since(start))
		close(all)
		wg.Wait()
	})
}

// While a waiter for an exclusive grant waits, no reader joins, even after the last reader has left. The readers that
// hold the lock renew, and their requests may be repeated. The reservation ends by itself, or with the exclusive
// grant.
func TestAWaitingWriterKeepsReadersOut(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		a, b := s.open(), s.open()
		first := reading("job")
		g := share(t, a, first)
		assert.Equal(t, 1, refused(t, b, request("job")).Readers, "a request that does not wait reserves nothing")
		require.NoError(t, b.Release(t.Context(), share(t, b, reading("job"))))

		writer := request("job")
		writer.Waits = true
		h := refused(t, b, writer)
		assert.Equal(t, driver.Leased, h.Reason)
		h = refused(t, b, reading("job"))
		assert.Equal(t, driver.Reserved, h.Reason)
		assert.Equal(t, first.Holder, h.Holder)
		assert.Equal(t, 1, h.Readers)
		assert.LessOrEqual(t, h.ExpiresIn, driver.WriterReserve)
		assert.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, a, g))
		assert.Equal(t, g, share(t, a, first), "the same request again")

		require.NoError(t, a.Release(t.Context(), g))
		assert.Equal(t, driver.Reserved, refused(t, a, reading("job")).Reason, "the last reader has left")
		w := acquire(t, b, writer)
		assert.Greater(t, w.Token, g.Token)
		require.NoError(t, b.Release(t.Context(), w))
		next := share(t, a, reading("job"))
		assert.Greater(t, next.Token, w.Token)
		require.NoError(t, a.Release(t.Context(), next))
	})
}

// Sixty-four readers of one epoch are renewed by one call. Each share ends alone, and a share that has ended is lost.
func TestManyReadersRenewTogether(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		a, b := s.open(), s.open()
		var grants []driver.Grant
		for range 64 {
			grants = append(grants, share(t, a, reading("job")))
		}
		other := share(t, b, reading("job"))
		want := make([]driver.Outcome, len(grants))
		for i := range want {
			want[i] = driver.Renewed
		}
		assert.Equal(t, want, renew(t, a, grants...))
		for i, g := range grants[:10] {
			want[i] = driver.Lost
			require.NoError(t, a.Release(t.Context(), g))
			require.NoError(t, a.Release(t.Context(), g), "released before")
		}
		assert.Equal(t, want, renew(t, a, grants...))
		st, err := b.Inspect(t.Context(), other.Key)
		require.NoError(t, err)
		assert.Equal(t, 55, st.Readers)
		assert.Equal(t, driver.StateHeld, st.State)
		list, err := b.List(t.Context(), "", false)
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, 55, list[0].Readers)
		require.NoError(t, a.ForceRelease(t.Context(), other.Key, other.Token, true))
		assert.Equal(t, []driver.Outcome{driver.Lost}, renew(t, b, other))
		require.ErrorIs(t, b.Release(t.Context(), other), driver.ErrNotHeld, "a newer token exists")
	})
}

// InTx fails while readers hold the lock. A prune leaves a shared lock alone.
func TestReadersKeepOutTransactionsAndPrune(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		g := share(t, b, reading("job"))
		tx := s.begin(t)
		h := held(t, b.InTx(t.Context(), tx, "job"))
		assert.Equal(t, driver.Leased, h.Reason)
		require.NoError(t, tx.Rollback())
		n, err := b.Prune(t.Context(), 0)
		require.NoError(t, err)
		assert.Zero(t, n)
		assert.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, b, g))
		require.ErrorAs(t, b.ForceRelease(t.Context(), g.Key, g.Token, false), &h)
		require.NoError(t, b.Release(t.Context(), g))
		tx = s.begin(t)
		require.NoError(t, b.InTx(t.Context(), tx, "job"))
		require.NoError(t, tx.Rollback())
	})
}
