package sqllock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock"
)

// A release grants the lock to the request in the waiter's row, and notifies the waiter. The waiter has the lock
// without sending another acquire.
func TestPostgresReleaseGrantsToWhoWaits(t *testing.T) {
	t.Parallel()
	p := newPassing(t, request("job"))
	p.waiter.sent.take()
	require.NoError(t, p.holder.backend.Release(t.Context(), p.held))
	within(t, p.woken)
	assert.True(t, p.holds(t, p.request))
	g, err := p.waiter.backend.Acquire(t.Context(), p.request)
	require.NoError(t, err)
	assert.Greater(t, g.Token, p.held.Token)
	for _, s := range p.waiter.sent.take() {
		assert.NotContains(t, s.SQL, "inserted", "the lock was asked for")
	}
	assert.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, p.waiter.backend, g))
	status := inspect(t, p.holder.backend, "job")
	assert.Equal(t, g.Token, status.Token)
	assert.Equal(t, p.request.Holder, status.Holder)
	require.NoError(t, p.waiter.backend.Release(t.Context(), g))
}

// A withdrawn request is not granted later. If it was granted before the withdrawal, the grant is released.
func TestPostgresARequestIsTakenBack(t *testing.T) {
	t.Parallel()
	for name, granted := range map[string]bool{"before it is granted": false, "after that": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPassing(t, request("job"))
			takeBack := func() error {
				return p.waiter.backend.Release(t.Context(), driver.Grant{Key: p.held.Key, Nonce: p.request.Nonce})
			}
			if granted {
				require.NoError(t, p.holder.backend.Release(t.Context(), p.held))
				assert.True(t, p.holds(t, p.request))
				require.NoError(t, takeBack())
			} else {
				require.ErrorIs(t, takeBack(), driver.ErrNotHeld)
				require.NoError(t, p.holder.backend.Release(t.Context(), p.held))
			}
			assert.False(t, p.holds(t, p.request))
			require.ErrorIs(t, takeBack(), driver.ErrNotHeld)
		})
	}
}

// A release grants the lock to the request in the waiter's row only if an acquire of that request would succeed, and
// the waiter is alive. Otherwise the release reserves the lock, as for a waiter without a request in its row.
func TestPostgresReleaseDoesNotGrantWhatAcquireWouldNot(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"whose session holds no lock": "INSERT INTO rowlock_lease_waiter (namespace, name, since, id, channel, alive_until, nonce, ttl_us) " +
			"VALUES ('', 'job', '-infinity', gen_random_uuid(), 'rowlock_nobody', now() + interval '3 seconds', gen_random_uuid(), 30000000)",
		"after a change of server":  "UPDATE rowlock_lease_meta SET epoch = 'another'",
		"in quarantine":             "UPDATE rowlock_lease_meta SET quarantined_until = clock_timestamp() + interval '1 hour'",
		"for longer than is known":  "UPDATE rowlock_lease_meta SET longest_ttl_us = 1",
		"a waiter without requests": "UPDATE rowlock_lease_waiter SET nonce = NULL",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPassing(t, request("job"))
			p.exec(t, change)
			require.NoError(t, p.holder.backend.Release(t.Context(), p.held))
			assert.False(t, p.holds(t, p.request))
			assert.Equal(t, int64(1), p.int(t, "SELECT count(*) FROM rowlock_lease WHERE nonce IS NULL AND reserved_for IS NOT NULL"))
		})
	}
	t.Run("while a minimum hold runs", func(t *testing.T) {
		t.Parallel()
		closed := request("job")
		closed.MinHold = time.Hour
		p := newPassing(t, closed)
		require.NoError(t, p.holder.backend.Release(t.Context(), p.held))
		assert.False(t, p.holds(t, p.request))
		assert.Zero(t, p.int(t, "SELECT count(*) FROM rowlock_lease WHERE reserved_for IS NOT NULL"))
	})
	t.Run("whose session has ended, which costs the next waiter nothing", func(t *testing.T) {
		t.Parallel()
		p := newPassing(t, request("job"))
		p.exec(t, "INSERT INTO rowlock_lease_waiter (namespace, name, since, id, channel, alive_until, nonce, ttl_us) "+
			"VALUES ('', 'job', '-infinity', gen_random_uuid(), 'rowlock_nobody', now() + interval '1 hour', gen_random_uuid(), 30000000)")
		assert.Equal(t, 2, inspect(t, p.holder.backend, "job").Waiters, "the holder's process is listed too")
		require.NoError(t, p.holder.backend.Release(t.Context(), p.held))
		within(t, p.woken)
		assert.True(t, p.holds(t, p.request))
	})
}

// If the first waiter does not come, the second waiter is woken when the reservation has ended. A waiter between them
// whose session has ended does not count. The grant to the second takes the first out of the queue, and the next request
// of the first puts it back.
func TestPostgresTheSecondWaiterIsWokenWhenTheFirstDoesNotCome(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]bool{"and the holder's process does not wait": false, "and the holder's process waits too": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t, 3)
			g := acquire(t, c.members[0].backend, request("job"))
			woken, asks := make([]chan struct{}, 2), make([]driver.Request, 2)
			for i, m := range c.members[1:] {
				until(t, "it listens and is listed", func() bool {
					if woken[i] == nil {
						woken[i], asks[i] = make(chan struct{}, 10), request("job")
						stop, err := m.backend.Notify(t.Context(), g.Key, func() { woken[i] <- struct{}{} })
						require.NoError(t, err)
						t.Cleanup(stop)
						asks[i].Waits, asks[i].Waiting = true, true
					}
					return refused(t, m.backend, asks[i]).Listed
				})
			}
			for len(woken[1]) > 0 {
				<-woken[1]
			}
			if waits {
				stop, err := c.members[0].backend.Notify(t.Context(), g.Key, func() {})
				require.NoError(t, err)
				t.Cleanup(stop)
			}
			c.exec(t, "UPDATE rowlock_lease_waiter SET nonce = NULL") // the release reserves the lock, and grants nothing
			c.exec(t, "INSERT INTO rowlock_lease_waiter (namespace, name, since, id, channel, alive_until) "+
				"SELECT namespace, name, min(since) + interval '1 microsecond', gen_random_uuid(), 'rowlock_nobody', now() + interval '1 hour' FROM rowlock_lease_waiter GROUP BY 1, 2")
			c.exec(t, "CREATE TABLE rowlock_lease_first AS SELECT id FROM rowlock_lease_waiter ORDER BY since LIMIT 1")
			queued := func() int64 {
				return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter JOIN rowlock_lease_first USING (id) WHERE callable")
			}
			assert.Equal(t, int64(1), queued())
			began := time.Now()
			require.NoError(t, c.members[0].backend.Release(t.Context(), g))
			until(t, "the second waiter is granted the lock", func() bool {
				within(t, woken[1]) // its listener may also wake it without a reason
				var err error
				g, err = c.members[2].backend.Acquire(t.Context(), asks[1])
				return err == nil
			})
			assert.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
			assert.Zero(t, queued())
			assert.False(t, refused(t, c.members[1].backend, asks[0]).Listed)
			assert.Equal(t, int64(1), queued())
			assert.True(t, refused(t, c.members[1].backend, asks[0]).Listed)
			require.NoError(t, c.members[2].backend.Release(t.Context(), g))
		})
	}
}

// A grant that a release makes is durable, even if the session commits asynchronously by default. A release that
// neither grants nor records a tick needs no flush.
func TestPostgresReleaseFlushesWhatItGrants(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ change, tick, session, want string }{
		"grants":                            {"SELECT 1", "", "off", "on"},
		"grants, where users chose another": {"SELECT 1", "", "local", "local"},
		"reserves the lock for the waiter that it notifies": {"UPDATE rowlock_lease_waiter SET nonce = NULL", "", "on", "off"},
		"records a tick":            {"UPDATE rowlock_lease_waiter SET nonce = NULL", "tick", "off", "on"},
		"grants and records a tick": {"SELECT 1", "tick", "off", "on"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPassing(t, request("job"))
			p.exec(t, c.change)
			p.exec(t, "CREATE TABLE rowlock_lease_before AS SELECT * FROM rowlock_lease")
			p.exec(t, "CREATE TABLE rowlock_lease_before_waiter AS SELECT * FROM rowlock_lease_waiter")
			p.holder.sent.take()
			p.held.Done = c.tick
			require.NoError(t, p.holder.backend.Release(t.Context(), p.held))
			var statement pgx.TraceQueryStartData
			for _, s := range p.holder.sent.take() { // holder.sent also contains the statements of the listening connection
				if strings.Contains(s.SQL, "passes") {
					statement = s
				}
			}
			tx := p.begin(t) // restores the state before the release, to run its statement again
			for _, s := range []string{
				"DELETE FROM rowlock_lease", "INSERT INTO rowlock_lease SELECT * FROM rowlock_lease_before",
				"DELETE FROM rowlock_lease_waiter", "INSERT INTO rowlock_lease_waiter SELECT * FROM rowlock_lease_before_waiter",
				"SET LOCAL synchronous_commit = " + c.session,
			} {
				_, err := tx.ExecContext(t.Context(), p.sql(s))
				require.NoError(t, err)
			}
			_, err := tx.ExecContext(t.Context(), statement.SQL, statement.Args...)
			require.NoError(t, err)
			var set string
			require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT current_setting('synchronous_commit')").Scan(&set))
			assert.Equal(t, c.want, set)
		})
	}
}

// unlisted is a backend whose refusals do not say that a release notifies the waiter. So its waiters poll every 1.5
// seconds at least. A waiter that relies on notifications polls every 12 to 20 seconds (TestAListedWaiterPollsSeldom in
// package rowlock).
type unlisted struct{ *sqllock.Backend }

func (u unlisted) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := u.Backend.Acquire(ctx, r)
	var held *driver.Held
	if errors.As(err, &held) {
		held.Listed = false
	}
	return g, err
}

// If the notification of a grant is lost, the waiter finds with its next poll that it has the lock.
func TestPostgresALostCallIsFoundByThePoll(t *testing.T) {
	t.Parallel()
	p := newPassing(t, request("job"))
	third, err := rowlock.New(unlisted{p.join(t, p.dsn).backend})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, third.Close()) })
	got := make(chan *rowlock.Lease, 1)
	go func() {
		lease, err := third.Acquire(t.Context(), "job")
		assert.NoError(t, err)
		got <- lease
	}()
	until(t, "it has left its request", func() bool { return p.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE nonce IS NOT NULL") == 2 })
	deaf, err := p.raw.Conn(t.Context())
	require.NoError(t, err)
	_, err = deaf.ExecContext(t.Context(), "SELECT pg_advisory_lock(hashtextextended('elsewhere', 0))")
	require.NoError(t, err)
	// The row now names a channel on which no session listens.
	_, err = deaf.ExecContext(t.Context(), p.sql("UPDATE rowlock_lease_waiter SET channel = 'elsewhere', since = '-infinity' WHERE nonce <> '"+p.request.Nonce.String()+"'"))
	require.NoError(t, err)
	require.NoError(t, p.holder.backend.Release(t.Context(), p.held))
	granted := p.int(t, "SELECT token FROM rowlock_lease WHERE nonce IS NOT NULL")
	lease := within(t, got)
	assert.Equal(t, driver.Token(granted), lease.Token(), "the grant that the release has made")
	require.NoError(t, lease.Release(t.Context()))
	require.NoError(t, deaf.Close())
}

// When Close returns, the listening connection is closed.
func TestPostgresCloseEndsTheListener(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2)
	lease, err := c.members[0].Acquire(t.Context(), "job")
	require.NoError(t, err)
	got := make(chan *rowlock.Lease, 1)
	go func() {
		next, err := c.members[1].Acquire(t.Context(), "job")
		assert.NoError(t, err)
		got <- next
	}()
	until(t, "it listens", func() bool { return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE channel <> ''") == 1 })
	require.NoError(t, lease.Release(t.Context()))
	require.NoError(t, within(t, got).Release(t.Context()))
	kept, known := c.members[1].backend.Listens()
	assert.True(t, kept, "it is kept for the next one")
	assert.True(t, known)
	require.NoError(t, c.members[1].Close())
	kept, known = c.members[1].backend.Listens()
	assert.False(t, kept)
	assert.False(t, known, "the row is gone")
	assert.Zero(t, c.int(t, "SELECT count(*) FROM rowlock_lease_waiter"))
}

// A lock's row may be pruned while a waiter's row contains a request. The grant to that waiter then inserts a new row.
// The same statement removes the request, so the next release does not grant the request a second time.
func TestPostgresARequestIsGrantedOnce(t *testing.T) {
	t.Parallel()
	p := newPassing(t, request("job"))
	p.exec(t, "DELETE FROM rowlock_lease WHERE name = 'job'")
	g := acquire(t, p.waiter.backend, p.request)
	assert.Equal(t, int64(0), p.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE nonce IS NOT NULL"))
	require.NoError(t, p.waiter.backend.Release(t.Context(), g))
	assert.False(t, p.holds(t, p.request))
}

// The request of a waiter that returns to its row is granted only once, even if the waiter sends another request
// before it has called Notify.
func TestPostgresWhoComesBackIsGrantedOnce(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2)
	before, b := c.members[0].backend, c.members[1].backend
	r := request("job")
	r.Waits = true
	var tx pgx.Tx
	until(t, "it has come back to its row", func() bool { // repeats this if the cleanup, which runs once a second, has deleted the row meanwhile
		g := acquire(t, before, request("job"))
		stop, err := b.Notify(t.Context(), g.Key, func() {})
		require.NoError(t, err)
		until(t, "it listens", func() bool { return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE channel <> ''") == 1 })
		require.NoError(t, before.Release(t.Context(), g))
		g = acquire(t, b, waiting("job"))
		stop()
		require.NoError(t, b.Release(t.Context(), g))
		tx, err = c.members[0].pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), c.sql("SELECT FROM rowlock_lease WHERE name = 'job' FOR UPDATE"))
		require.NoError(t, err)
		if refused(t, b, r).Pending {
			return true
		}
		require.NoError(t, tx.Rollback(t.Context()))
		return false
	})
	_, err := tx.Exec(t.Context(), c.sql("DELETE FROM rowlock_lease WHERE name = 'job'"))
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	g := acquire(t, b, r)
	assert.Equal(t, int64(0), c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE nonce IS NOT NULL"))
	require.NoError(t, b.Release(t.Context(), g))
}

// A waiter that returns to its row stores its request in that row with its first statement, and does not repeat the
// request after Notify. If a release grants the lock before Notify is called, Notify wakes the waiter.
func TestPostgresACallThatCameBeforeIsNotLost(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2)
	before, b := c.members[0].backend, c.members[1].backend
	another := make(chan struct{}, 100)
	other := acquire(t, before, request("other"))
	stop, err := b.Notify(t.Context(), other.Key, func() { another <- struct{}{} })
	require.NoError(t, err)
	defer stop()
	until(t, "it listens", func() bool { return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE channel <> ''") == 1 })
	free := func(name string) (g driver.Grant) { // acquires the lock when its reservation is over
		until(t, "the reservation is over", func() bool {
			var err error
			g, err = before.Acquire(t.Context(), request(name))
			return err == nil
		})
		return g
	}
	row := func() (id string) {
		require.NoError(t, c.raw.QueryRowContext(t.Context(), c.sql("SELECT coalesce(min(id::text), '') FROM rowlock_lease_waiter WHERE name = 'job' AND holder <> ''")).Scan(&id))
		return id
	}
	woken := make(chan struct{}, 10)
	var r driver.Request
	var g driver.Grant
	until(t, "it returns to its row, which a release has granted the lock", func() bool { // not if the cleanup, which runs once a second, has deleted the row meanwhile
		g = free("job")
		stop, err := b.Notify(t.Context(), g.Key, func() {})
		require.NoError(t, err)
		require.NoError(t, before.Release(t.Context(), g))
		g = acquire(t, b, waiting("job"))
		stop()
		require.NoError(t, b.Release(t.Context(), g))
		g = acquire(t, before, request("job"))
		r = request("job")
		r.Waits = true
		pending := refused(t, b, r).Pending
		stop, err = before.Notify(t.Context(), g.Key, func() {}) // the holder's process waits too, so its release may grant a request in a waiter's row
		require.NoError(t, err)
		defer stop()
		require.NoError(t, before.Release(t.Context(), g))
		granted := pending && c.int(t, "SELECT count(*) FROM rowlock_lease WHERE name = 'job' AND nonce = '"+r.Nonce.String()+"'") == 1
		for len(another) > 0 {
			<-another
		}
		heard := granted && before.Release(t.Context(), other) == nil
		for deadline := time.After(time.Second); heard; { // the call of the other lock comes after the call of this one
			select {
			case <-another:
			case <-deadline:
				heard = false
				continue
			}
			break
		}
		if granted {
			other = free("other")
		}
		if id := row(); heard && id != "" {
			stop, err = b.Notify(t.Context(), g.Key, func() { woken <- struct{}{} })
			require.NoError(t, err)
			t.Cleanup(stop)
			if c.int(t, "SELECT count(*) * (count(*) FILTER (WHERE id::text = '"+id+"')) FROM rowlock_lease_waiter WHERE name = 'job'") == 2 { // its row and the holder's, so it got no new one
				return true
			}
			stop()
		}
		_ = b.Release(t.Context(), driver.Grant{Key: r.Key, Nonce: r.Nonce}) // withdraws the request
		return false
	})
	within(t, woken)
	r.Waiting = true
	got, err := b.Acquire(t.Context(), r)
	require.NoError(t, err)
	assert.Greater(t, got.Token, g.Token)
}
