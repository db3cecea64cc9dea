package sqllock_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/contest"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
)

// A release wakes a waiter of another process at once, before its next poll.
func TestPostgresReleaseWakesTheWaiterOfAnotherProcess(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2)
	c.hurry()
	var took []time.Duration
	for range 10 {
		lease, err := c.members[0].Acquire(t.Context(), "job")
		require.NoError(t, err)
		got := make(chan time.Time)
		go func() {
			next, err := c.members[1].Acquire(t.Context(), "job")
			got <- time.Now()
			if assert.NoError(t, err) {
				assert.NoError(t, next.Release(t.Context()))
			}
		}()
		c.waits(t, 1)
		c.members[1].sent.take()
		released := time.Now()
		require.NoError(t, lease.Release(t.Context()))
		took = append(took, (<-got).Sub(released))
		c.waits(t, 0)
	}
	slices.Sort(took)
	t.Logf("from the release to the next lease: median %s, most %s", took[5], took[9])
}

// Hand-overs are fair: if eight processes compete, the process with the fewest grants gets at least half of its fair
// share. Only grants after all processes have begun to wait count. The test does not run in parallel with others,
// because they would slow each other.
func TestPostgresNobodyStarves(t *testing.T) {
	c := newCrowd(t, 8)
	r := c.contest(t, 400)
	assert.GreaterOrEqual(t, r.Least(), 0.5)
}

// A release wakes only the waiter that has waited longest. The other waiters send no statement. On a slow machine it
// also wakes the second waiter, because the first has not acquired the lock within 55 ms.
func TestPostgresReleaseWakesOne(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 8)
	key := driver.Key{Name: "job"}
	holder := c.members[7].backend
	g := acquire(t, holder, request("job"))
	for _, m := range c.members { // opens the connections
		stop, err := m.backend.Notify(t.Context(), driver.Key{Name: "another"}, func() {})
		require.NoError(t, err)
		t.Cleanup(stop) // as long as a process waits, it keeps its connection
		c.hears(t, m.backend, 1)
	}
	woken := make(chan int, 100)
	var stops []func()
	for i, m := range c.members[:7] {
		stop, err := m.backend.Notify(t.Context(), key, func() { woken <- i })
		require.NoError(t, err)
		stops = append(stops, stop)
	}
	late := c.join(t, c.dsn).backend
	stopLate, err := late.Notify(t.Context(), key, func() {})
	require.NoError(t, err)
	r := request("job")
	r.Waiting = true
	assert.Equal(t, 3, refused(t, c.members[3].backend, r).Ahead, "three came before it")
	require.ErrorIs(t, c.members[3].backend.Release(t.Context(), driver.Grant{Key: key, Nonce: r.Nonce}), driver.ErrNotHeld, "and it takes that back")
	for i := range 7 {
		for _, m := range c.members {
			m.sent.take()
		}
		require.NoError(t, holder.Release(t.Context(), g))
		first := within(t, woken)
		for first == i-1 || first == i+1 { // the second waiter was woken, too
			first = within(t, woken)
		}
		assert.Equal(t, i, first, "the first who came")
		c.reservedFor(t, time.Hour)
		assert.Equal(t, driver.Reserved, refused(t, c.members[7].backend, request("job")).Reason)
		if i == 0 {
			another := request("job")
			another.Waiting = true
			assert.Equal(t, driver.Reserved, refused(t, late, another).Reason, "it is reserved for the first waiter only")
			stopLate()
		}
		g = acquire(t, c.members[i].backend, r)
		r, holder = request("job"), c.members[i].backend
		r.Waiting = true
		stops[i]()
		for n, m := range c.members[:7] {
			if n != i {
				for _, s := range m.sent.take() {
					assert.NotContains(t, s.SQL, "inserted", "member %d was asked for the lock", n)
				}
			}
		}
	}
	until(t, "nobody waits", func() bool { // the row of the last member may have been written again after its grant, and is then deleted a little later
		return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE name = 'job'") == 0
	})
	require.NoError(t, holder.Release(t.Context(), g))
	for len(woken) > 0 {
		assert.Equal(t, 6, <-woken, "it was woken as the second, and once more as the first")
	}
	acquire(t, c.members[7].backend, request("job"))
}

// A dead waiter delays the others only once, by one reservation, however many releases follow.
func TestPostgresADeadWaiterCostsOneReservation(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3)
	// The dead waiter registers before all others, keeps refreshing its row, and never sends an acquire.
	var called atomic.Int64
	dead, err := c.members[2].backend.Notify(t.Context(), driver.Key{Name: contest.Name}, func() { called.Add(1) })
	require.NoError(t, err)
	defer dead()
	sent := c.members[2].sent
	c.members = c.members[:2]
	r := c.contest(t, 100)
	calls, writes := called.Load(), 0
	for _, s := range sent.take() {
		if strings.Contains(s.SQL, c.sql(`INSERT INTO "rowlock_lease_waiter"`)) || strings.HasPrefix(s.SQL, "LISTEN") {
			writes++
		}
	}
	t.Logf("it was called %d times, and wrote its row or began to listen %d times", calls, writes)
	assert.Positive(t, calls)
	assert.LessOrEqual(t, calls, int64(2*writes), "once for each time that it has written its row, and when its connection was made; once more by who releases before it is noted that nobody came")
	assert.Less(t, calls, int64(max(r.All/4, 2*writes+1)), "each release would call it if it was always the next") // on a slow machine it writes its row once in a few releases
}

// When the listening connection breaks, the backend wakes all waiters, which then find releases by polling. It opens
// another connection, and wakes all waiters again.
func TestPostgresReconnectWakesAll(t *testing.T) {
	t.Parallel()
	c := newCrowdAlone(t, 1)
	b := c.members[0].backend
	woken := make(chan string, 100)
	for _, name := range []string{"a", "b"} {
		stop, err := b.Notify(t.Context(), driver.Key{Name: name}, func() { woken <- name })
		require.NoError(t, err)
		defer stop()
	}
	c.hears(t, b, 1)
	for len(woken) > 0 {
		<-woken
	}
	assert.Equal(t, int64(1), c.int(t, "SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory'"+
		" AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"), "the one that listens")
	seen := map[string]int{}
	for seen["a"] < 2 || seen["b"] < 2 {
		seen[within(t, woken)]++
	}
	// The new connection receives notifications, too.
	c.hears(t, b, 2)
	other := c.join(t, c.dsn)
	g := acquire(t, other.backend, request("a"))
	for len(woken) > 0 {
		<-woken
	}
	require.NoError(t, other.backend.Release(t.Context(), g))
	assert.Equal(t, "a", within(t, woken))
}

// Through a pooler the backend does not listen, and Capabilities reports this. Waiters find a release by polling, and
// are still granted the lock in order.
func TestCompatPostgresBehindAPoolerTheWaiterPolls(t *testing.T) {
	t.Parallel()
	for name, fresh := range map[string]func(testing.TB) (pooled, direct string){"pgbouncer": testenv.PgBouncer, "pgbouncer_new": testenv.NewPgBouncer} {
		t.Run(name, func(t *testing.T) {
			testenv.Compat(t)
			t.Parallel()
			pooled, direct := fresh(t)
			c := &crowd{dsn: pooled, store: &store{table: "rowlock_lease", dialect: migrations.Postgres, raw: openDB(t, direct)}}
			require.NoError(t, migrations.Up(t.Context(), c.raw, migrations.Postgres))
			holder, waiter := c.join(t, pooled), c.join(t, pooled)
			lease, err := holder.Acquire(t.Context(), "job")
			require.NoError(t, err)
			got := make(chan *rowlock.Lease, 1)
			go func() {
				next, err := waiter.Acquire(t.Context(), "job")
				assert.NoError(t, err)
				got <- next
			}()
			c.waits(t, 1)
			assert.Equal(t, int64(1), c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE channel = ''"))
			until(t, "it is known", func() bool { return !waiter.Capabilities().Wakes })
			assert.Len(t, waiter.Capabilities().Warnings, 1)
			for range 3 { // these calls do not try again to listen
				stop, err := waiter.backend.Notify(t.Context(), driver.Key{Name: "another"}, func() {})
				require.NoError(t, err)
				stop()
			}
			asked := 0
			for _, s := range waiter.sent.take() {
				if s.SQL == "SELECT pg_backend_pid()" {
					asked++
				}
			}
			assert.Equal(t, 1, asked)
			require.NoError(t, lease.Release(t.Context()))
			next := <-got
			require.NoError(t, next.Release(t.Context()))
			assert.Zero(t, c.int(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"))
		})
	}
}

// When the last waiter leaves, its row is deleted, and the listening connection is closed soon afterwards.
func TestPostgresNothingStaysOfWaiters(t *testing.T) {
	t.Parallel()
	c := newCrowdAlone(t, 1)
	c.members[0].backend.SetIdle(100 * time.Millisecond)
	stop, err := c.members[0].backend.Notify(t.Context(), driver.Key{Name: "job"}, func() {})
	require.NoError(t, err)
	listens := func() int64 { // counts the member's connections that its pool does not know
		return c.int(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()") -
			int64(c.members[0].pool.Stat().TotalConns())
	}
	c.raw.SetMaxOpenConns(1)
	until(t, "it listens", func() bool { return listens() == 1 })
	stop()
	c.waits(t, 0)
	until(t, "the connection is closed", func() bool { return listens() == 0 })
	// A release ignores the row of a process that has died, and the row is deleted after a minute.
	c.exec(t, "INSERT INTO rowlock_lease_waiter VALUES ('', 'job', now(), gen_random_uuid(), 'nobody', now() - interval '4 seconds'), "+
		"('', 'old', now(), gen_random_uuid(), 'nobody', now() - interval '61 seconds')")
	g := acquire(t, c.members[0].backend, request("job"))
	require.NoError(t, c.members[0].backend.Release(t.Context(), g))
	g = acquire(t, c.members[0].backend, request("job"))
	stop, err = c.join(t, c.dsn).backend.Notify(t.Context(), driver.Key{Name: "job"}, func() {})
	require.NoError(t, err)
	until(t, "the old row is forgotten", func() bool { return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE name = 'old'") == 0 })
	stop()
	require.NoError(t, c.members[0].backend.Release(t.Context(), g))
}

// If the table of waiters is missing, the error of every call that needs it names the command that creates the table.
func TestPostgresWithoutTheTableOfWaiters(t *testing.T) {
	p := newPostgresTest(t)
	g := acquire(t, p.Backend, request("job"))
	p.exec(t, "DROP TABLE rowlock_lease_waiter")
	_, err := p.Notify(t.Context(), g.Key, func() {})
	outdated(t, p.table, map[string]error{"wait": err, "release": p.Release(t.Context(), g), "force release": p.ForceRelease(t.Context(), g.Key, g.Token, true)})
	p.exec(t, "ALTER TABLE rowlock_lease DROP COLUMN reserved_for")
	_, err = p.Acquire(t.Context(), request("job"))
	outdated(t, p.table, map[string]error{"acquire": err})
}

// A forced release notifies the waiter, as any release does.
func TestPostgresForceReleaseWakes(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2)
	g := acquire(t, c.members[0].backend, request("job"))
	woken := make(chan struct{}, 10)
	stop, err := c.members[1].backend.Notify(t.Context(), g.Key, func() { woken <- struct{}{} })
	require.NoError(t, err)
	require.NoError(t, c.members[0].backend.ForceRelease(t.Context(), g.Key, g.Token, true))
	within(t, woken)
	c.reservedFor(t, time.Hour)
	assert.Equal(t, driver.Reserved, refused(t, c.members[0].backend, request("job")).Reason)
	r := request("job")
	r.Waiting = true
	g = acquire(t, c.members[1].backend, r)
	stop()
	require.NoError(t, c.members[1].backend.Release(t.Context(), g))
	acquire(t, c.members[0].backend, request("job"))
}

// A minimum hold is not shortened for waiters. The release notifies the first waiter, so that it learns when the minimum
// hold ends.
func TestPostgresMinHoldIsKeptFromWaiters(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2)
	closed := request("job")
	closed.MinHold = time.Hour
	g := acquire(t, c.members[0].backend, closed)
	another, err := c.members[1].backend.Notify(t.Context(), driver.Key{Name: "another"}, func() {})
	require.NoError(t, err)
	defer another()
	until(t, "it listens", func() bool { return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE channel <> ''") == 1 })
	woken := make(chan struct{}, 1)
	stop, err := c.members[1].backend.Notify(t.Context(), g.Key, func() { woken <- struct{}{} })
	require.NoError(t, err)
	require.NoError(t, c.members[0].backend.Release(t.Context(), g))
	within(t, woken)
	r := request("job")
	r.Waiting = true
	held := refused(t, c.members[1].backend, r)
	assert.Equal(t, driver.MinHold, held.Reason)
	assert.Greater(t, held.ExpiresIn, 50*time.Minute)
	assert.True(t, held.Listed)
	assert.Zero(t, c.int(t, "SELECT count(*) FROM rowlock_lease WHERE reserved_for IS NOT NULL"))
	stop()
}

// A waiter's row is deleted only if its process has not refreshed the row for a minute. A process that has refreshed
// its row since then may only be slow.
func TestPostgresForgetsDeadWaitersOnly(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2)
	c.exec(t, `INSERT INTO rowlock_lease_waiter (namespace, name, since, id, channel, alive_until)
		SELECT '', name, clock_timestamp(), gen_random_uuid(), 'rowlock_nobody', clock_timestamp() - age
		  FROM (VALUES ('dead', interval '61 seconds'), ('slow', interval '20 seconds'), ('new', interval '0')) v (name, age)`)
	lease, err := c.members[0].Acquire(t.Context(), "job")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := c.members[1].Acquire(ctx, "job")
		ended <- err
	}()
	until(t, "what is dead is forgotten", func() bool { return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE name = 'dead'") == 0 })
	assert.EqualValues(t, 1, c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE name = 'slow'"))
	assert.EqualValues(t, 1, c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE name = 'new'"))
	cancel()
	require.ErrorIs(t, within(t, ended), context.Canceled)
	require.NoError(t, lease.Release(t.Context()))
}
