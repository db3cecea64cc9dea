package sqllock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/sqllock"
)

// The grant, the renewal and the release of a share are one statement each, also beside other readers. A refused
// request writes nothing.
func TestPostgresSendsOneStatementForAShare(t *testing.T) {
	p := newPostgresTest(t)
	one := func(what string) {
		t.Helper()
		assert.Len(t, p.sent.take(), 1, what)
	}
	acquire(t, p.Backend, request("first of all, which makes the server known"))
	p.sent.take()
	first := share(t, p.Backend, reading("job"))
	assert.Len(t, p.sent.take(), 3, "share of a name never seen: the row is inserted first")
	var others []driver.Grant
	for range 3 {
		others = append(others, share(t, p.Backend, reading("job")))
		one("share beside other readers")
	}
	renew(t, p.Backend, append(others, first)...)
	one("renewal of all shares")
	refused(t, p.Backend, request("job"))
	one("refused request that does not wait")
	for _, g := range append(others, first) {
		require.NoError(t, p.Release(t.Context(), g))
		one("release")
	}
	share(t, p.Backend, reading("job"))
	one("share of a free lock")

	acquire(t, p.Backend, request("exclusive"))
	p.sent.take()
	refused(t, p.Backend, reading("exclusive"))
	plan := p.explain(t, "EXPLAIN (ANALYZE, WAL)", p.sent.take()[0])
	assert.NotContains(t, plan, "WAL: records")
}

// While a process waits, a new reader does not use the short statement, because its grant must notify the waiter. A
// writer that waits keeps later readers out, and the expired share of a reader is no obstacle.
func TestPostgresReadersWithAWaiterUseTheFullStatement(t *testing.T) {
	p := newPostgresTest(t)
	reader := func() driver.Request {
		r := reading("job")
		r.Waits = true
		return r
	}
	dies := reader()
	dies.TTL = time.Second
	one := share(t, p.Backend, reader())
	share(t, p.Backend, dies)
	p.sent.take()
	share(t, p.Backend, reader())
	assert.Len(t, p.sent.take(), 1, "beside other readers")
	stop, err := p.open().Notify(t.Context(), one.Key, func() {})
	require.NoError(t, err)
	p.sent.take()
	share(t, p.Backend, reader())
	assert.Len(t, p.sent.take(), 2, "beside a waiter")
	stop()
	until(t, "the waiter's row is deleted", func() bool { return p.int(t, "SELECT count(*) FROM rowlock_lease_waiter") == 0 })
	until(t, "a share expires", func() bool {
		st, err := p.Inspect(t.Context(), one.Key)
		require.NoError(t, err)
		return st.Readers == 3
	})
	p.sent.take()
	share(t, p.Backend, reader())
	assert.Len(t, p.sent.take(), 1, "beside an expired share")
	st, err := p.Inspect(t.Context(), one.Key)
	require.NoError(t, err)
	assert.EqualValues(t, 4, st.Readers)
	assert.Equal(t, one.Token, st.Token)
	writer := request("job")
	writer.Waits = true
	assert.EqualValues(t, 4, refused(t, p.Backend, writer).Readers)
	p.exec(t, "UPDATE rowlock_lease SET writer_until = writer_until + interval '1 hour'")
	assert.Equal(t, driver.Reserved, refused(t, p.Backend, reader()).Reason)
}

// A statement that waited for the row sees the shares that were added and removed meanwhile, although its snapshot is
// older. The statement does not undo these changes.
func TestPostgresReadersKeepEachOther(t *testing.T) {
	p := newPostgresTest(t)
	one, two := share(t, p.Backend, reading("job")), share(t, p.Backend, reading("job"))
	for what, act := range map[string]func(b *sqllock.Backend) error{
		"share": func(b *sqllock.Backend) error {
			_, err := b.Acquire(t.Context(), reading("job"))
			return err
		},
		"renewal": func(b *sqllock.Backend) error {
			outcomes, err := b.Renew(t.Context(), []driver.Grant{one})
			assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
			return err
		},
		"release": func(b *sqllock.Backend) error { return b.Release(t.Context(), two) },
	} {
		others := p.int(t, "SELECT count(*) FROM rowlock_lease l, jsonb_each(l.readers) WHERE name = 'job'")
		tx, err := p.raw.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), p.sql(`UPDATE rowlock_lease SET readers = readers || jsonb_build_object($1::text, (extract(epoch FROM now() + interval '2 days') * 1000000)::bigint),
			held_until = now() + interval '2 days', expires_at = now() + interval '2 days' WHERE name = 'job'`),
			driver.NewNonce().String())
		require.NoError(t, err)
		done := make(chan error, 1)
		b := p.open()
		go func() { done <- act(b) }()
		until(t, "the statement waits for the row", func() bool {
			var n int
			require.NoError(t, p.raw.QueryRowContext(t.Context(),
				"SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'", p.sql(`"rowlock_lease"`)).Scan(&n))
			return n > 0
		})
		require.NoError(t, tx.Commit())
		require.NoError(t, within(t, done), what)
		want := others + 1 + map[string]int64{"share": 1, "renewal": 0, "release": -1}[what]
		st, err := p.Inspect(t.Context(), one.Key)
		require.NoError(t, err)
		assert.EqualValues(t, want, st.Readers, what)
		assert.Equal(t, one.Token, st.Token, what)
		assert.Greater(t, st.ExpiresIn, 24*time.Hour, "the lock stays closed until the last share expires")
	}
}

// Readers and writers of several backends compete for one lock. Some of them end without a release, so that their leases
// expire. A writer holds the lock alone, and readers that hold it at the same time have one token.
func TestPostgresReadersThatDieDelayWritersOnly(t *testing.T) {
	t.Parallel()
	readersDie(t, 2)
}

// The same with more backends, and so with more leases that expire.
func TestCompatPostgresReadersThatDieDelayWritersOnly(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	readersDie(t, 4)
}

// readersDie lets one writer and one reader of each backend end once without a release.
func readersDie(t *testing.T, backends int) {
	t.Helper()
	s := newPostgresTestWithin(t)
	var h board
	var wg sync.WaitGroup
	for i := range backends {
		b := s.open()
		for j := range 5 {
			wg.Go(func() {
				for round := range 3 * backends {
					r := request("job")
					r.Shared, r.Waits = j > 0, true
					dies := round == 3*i+j && j < 2
					if dies {
						r.TTL = time.Second
					}
					var asked time.Time
					g, ok := insist(t, func() (driver.Grant, error) {
						asked = time.Now()
						return b.Acquire(t.Context(), r)
					})
					if !ok {
						return
					}
					if dies && time.Since(asked) > r.TTL/4 {
						continue // too late to record the holder before its lease ends
					}
					h.enter(t, g)
					if !dies {
						if outcomes, err := b.Renew(t.Context(), []driver.Grant{g}); err == nil {
							assert.NotContains(t, outcomes, driver.Lost) // the outcome is unknown if others have the row locked for long
						} else {
							assert.True(t, driver.IsNotApplied(err), "%v", err)
						}
					}
					h.leave(g)
					if !dies {
						releaseAtLast(t, b, g)
					}
				}
			})
		}
	}
	wg.Wait()
	assert.Zero(t, h.readers+h.writers)
	assert.Greater(t, h.together, 1)
	t.Logf("at most %d readers at once; %d readers joined others", h.together, h.joins)
}

// The request of a waiting reader is never stored in the row of its process, because a release would grant it
// exclusively. A waiting writer of the same process stores its request. Both acquire the lock soon after the release.
func TestPostgresReadersAndWritersOfOneProcessWait(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3)
	c.hurry()
	for _, order := range [][]rowlock.Option{{rowlock.Shared(), nil}, {nil, rowlock.Shared()}} {
		lease, err := c.members[0].Acquire(t.Context(), "job")
		require.NoError(t, err)
		type held struct {
			le *rowlock.Lease
			at time.Time
		}
		got := make(chan held, 4)
		for _, m := range c.members[1:] {
			for _, opt := range order {
				waits := make(chan struct{}, 100)
				opts := []rowlock.Option{rowlock.Tracing(&rowlock.Trace{Waiting: func(rowlock.WaitingEvent) { waits <- struct{}{} }})}
				if opt != nil {
					opts = append(opts, opt)
				}
				go func() {
					le, err := m.Acquire(t.Context(), "job", opts...)
					got <- held{le, time.Now()}
					if assert.NoError(t, err) {
						assert.NoError(t, le.Release(t.Context()))
					}
				}()
				within(t, waits)
			}
		}
		c.waits(t, 2)
		records := int64(2)
		if order[0] != nil {
			records = 0 // the reader is the first waiter of each process, and only the first waiter sends requests
		}
		until(t, "only writers record their requests", func() bool {
			return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE nonce IS NOT NULL") == records
		})
		released := time.Now()
		require.NoError(t, lease.Release(t.Context()))
		var last time.Time
		for range 4 {
			h := within(t, got)
			require.NotNil(t, h.le)
			last = h.at
		}
		t.Logf("the last of four acquired the lock %s after the release", last.Sub(released))
		c.waits(t, 0)
	}
}

// The release of the last reader wakes a writer of another process before its next poll, and the release of a writer
// wakes every waiting reader.
func TestPostgresReleasesWakeReadersAndWriters(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 4)
	c.hurry()
	var longest time.Duration
	for range 5 {
		reader, err := c.members[0].Acquire(t.Context(), "job", rowlock.Shared())
		require.NoError(t, err)
		got := make(chan *rowlock.Lease, 3)
		wait := func(m *member, n int64, opts ...rowlock.Option) {
			go func() {
				le, err := m.Acquire(t.Context(), "job", opts...)
				assert.NoError(t, err)
				got <- le
			}()
			c.waits(t, n)
		}
		wait(c.members[1], 1)
		until(t, "later readers are refused", func() bool {
			le, err := c.members[2].TryAcquire(t.Context(), "job", rowlock.Shared())
			if le != nil {
				assert.NoError(t, le.Release(t.Context()))
			}
			return err != nil
		})
		start := time.Now()
		require.NoError(t, reader.Release(t.Context()))
		writer := within(t, got)
		longest = max(longest, time.Since(start))
		wait(c.members[2], 1, rowlock.Shared())
		wait(c.members[3], 2, rowlock.Shared())
		wait(c.members[0], 3, rowlock.Shared())
		start = time.Now()
		require.NoError(t, writer.Release(t.Context()))
		var leases []*rowlock.Lease
		for range 3 {
			leases = append(leases, within(t, got))
		}
		longest = max(longest, time.Since(start))
		for _, le := range leases {
			assert.Equal(t, leases[0].Token(), le.Token())
			assert.NoError(t, le.Release(t.Context()))
		}
		c.waits(t, 0)
	}
	t.Logf("from a release to the last of the next leases: at most %s", longest)
}
