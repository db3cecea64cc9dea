package sqllock_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// checked returns a transaction in which an older holder has checked the fence mark of the lock "job". The result pid
// is the server process of the transaction.
func (s *store) checked(t *testing.T) (tx *sql.Tx, pid int64) {
	t.Helper()
	tx = s.begin(t)
	require.NoError(t, tx.QueryRowContext(t.Context(),
		s.sql("SELECT pg_backend_pid() FROM rowlock_lease_fence WHERE resource = 'job' FOR SHARE")).Scan(&pid))
	return tx, pid
}

// answered is the result of an acquire that runs in a separate goroutine.
type answered struct {
	grant driver.Grant
	err   error
}

// behind sends the request r in a goroutine. It returns when the statement of this request waits for a lock that the
// server process pid holds.
func (s *store) behind(t *testing.T, b *sqllock.Backend, r driver.Request, pid int64) <-chan answered {
	t.Helper()
	done := make(chan answered, 1)
	go func() {
		g, err := b.Acquire(t.Context(), r)
		done <- answered{g, err}
	}()
	until(t, "an acquire that waits", func() bool {
		require.Empty(t, done, "it did not wait")
		return s.int(t, fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE %d = ANY (pg_blocking_pids(pid))", pid)) == 1
	})
	return done
}

// eachPostgres runs the function test on PostgreSQL, with the engines up to the given kind.
func eachPostgres(t *testing.T, usual kind, test func(t *testing.T, s *store, b *sqllock.Backend)) {
	t.Helper()
	eachOf(t, usual, sealer(test), migrations.Postgres)
}

// A sealed grant also raises the fence mark. It waits for a transaction in which an older holder has checked the mark,
// whatever the default isolation level is. The lease starts at the end of the wait.
func TestASealedGrantDrains(t *testing.T) {
	eachPostgres(t, otherSettings, func(t *testing.T, s *store, b *sqllock.Backend) {
		old := sealed(t, s, b, sealing())
		tx, pid := s.checked(t)
		require.NoError(t, b.Release(t.Context(), old))
		done := s.behind(t, b, sealing(), pid)
		before := s.int(t, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
		require.NoError(t, tx.Commit())
		a := <-done
		require.NoError(t, a.err)
		assert.True(t, a.grant.Sealed)
		assert.Equal(t, mark{a.grant.Token, a.grant.Nonce.String(), domain}, s.mark(t, "job"))
		assert.Greater(t, s.int(t, "SELECT (extract(epoch FROM acquired_at) * 1000000)::bigint FROM rowlock_lease"), before)
		assert.Equal(t, a.grant.TTL.Microseconds(), s.int(t, "SELECT (extract(epoch FROM expires_at - acquired_at) * 1000000)::bigint FROM rowlock_lease"))
		assert.GreaterOrEqual(t, s.int(t, "SELECT (extract(epoch FROM sealed_at) * 1000000)::bigint FROM rowlock_lease_fence"), before)
	})
}

// While a sealed grant waits for a transaction, other processes are refused that lock at once. Other locks are
// granted, sealed, renewed, released, pruned, and granted with a longer TTL than before, without a delay.
func TestADrainHoldsUpNobodyElse(t *testing.T) {
	eachPostgres(t, mainHandle, func(t *testing.T, s *store, b *sqllock.Backend) {
		old := sealed(t, s, b, sealing())
		tx, pid := s.checked(t)
		require.NoError(t, b.Release(t.Context(), old))
		done := s.behind(t, b, sealing(), pid)

		other := s.open()
		for _, r := range []driver.Request{sealing(), request("job")} {
			assert.Equal(t, driver.Contended, refused(t, other, r).Reason)
		}
		r := request("other")
		r.Seal, r.TTL = "store other", time.Hour
		for range 2 { // the first round inserts the row, the second finds it
			g := sealed(t, s, other, r)
			assert.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, other, g))
			require.NoError(t, other.Release(t.Context(), g))
			r.Nonce = driver.NewNonce()
		}
		s.exec(t, "UPDATE rowlock_lease SET held_until = held_until - interval '1 day', expires_at = expires_at - interval '1 day' WHERE name = 'other'")
		n, err := other.Prune(t.Context(), time.Hour)
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		assert.Equal(t, driver.StateFree, inspect(t, other, "job").State)

		require.Empty(t, done, "it waits yet")
		require.NoError(t, tx.Rollback())
		require.NoError(t, (<-done).err)
	})
}

// If the lock's row was pruned but its name has a fence mark, a sealed grant waits for the transaction that has checked
// the mark, as it does for a lock with a row. Other locks are not affected.
func TestASealedGrantOfAPrunedNameDrains(t *testing.T) {
	eachPostgres(t, mainHandle, func(t *testing.T, s *store, b *sqllock.Backend) {
		sealed(t, s, b, sealing())
		tx, pid := s.checked(t)
		s.exec(t, "DELETE FROM rowlock_lease")
		done := s.behind(t, b, sealing(), pid)
		acquire(t, s.open(), request("other"))
		require.Empty(t, done, "it waits yet")
		require.NoError(t, tx.Commit())
		a := <-done
		require.NoError(t, a.err)
		assert.True(t, a.grant.Sealed)
		assert.Equal(t, mark{a.grant.Token, a.grant.Nonce.String(), domain}, s.mark(t, "job"))
	})
}

// If an older holder's transaction does not end, a sealed grant is refused within a bounded time. The refusal says
// what the grant waited for, and names the last holder. The fence mark is not raised, and no statement waits any
// longer.
func TestADrainIsBounded(t *testing.T) {
	eachPostgres(t, mainHandle, func(t *testing.T, s *store, b *sqllock.Backend) {
		old := sealed(t, s, b, sealing())
		tx, _ := s.checked(t)
		require.NoError(t, b.Release(t.Context(), old))
		row := func() (row string) {
			require.NoError(t, s.raw.QueryRowContext(t.Context(), s.sql("SELECT concat(l.*, f.*) FROM rowlock_lease l, rowlock_lease_fence f")).Scan(&row))
			return row
		}
		before := row()
		brief := sealing()
		brief.TTL = 200 * time.Millisecond
		for what, ask := range map[string]func() error{
			"ctx": func() error {
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second) // a quarter of it remains for the reply
				defer cancel()
				_, err := b.Acquire(ctx, sealing())
				return err
			},
			"TTL": func() error { _, err := b.Acquire(t.Context(), brief); return err },
		} {
			h := held(t, ask(), what)
			assert.Equal(t, driver.Draining, h.Reason, what)
			assert.Equal(t, before, row(), what)
			if what == "TTL" { // in this case there was enough time to read the last holder
				assert.Equal(t, "tester job", h.Holder)
				assert.Equal(t, old.Token, h.Token)
				assert.Positive(t, h.Since)
			}
		}
		require.NoError(t, tx.Commit())
		sealed(t, s, b, sealing())
	})
}

// If the session's statement_timeout is shorter than the limit of the wait, it ends the wait as lock_timeout does. The
// server has undone the statement, so the outcome is known, and the waiter continues to wait.
func TestAStatementTimeoutBoundsADrain(t *testing.T) {
	p := newPostgresTest(t)
	b := p.recorded(t, with(t, p.dsn, "statement_timeout=3000")) // longer than any other statement takes on a slow machine
	old := sealed(t, p.store, b, sealing())
	tx, _ := p.checked(t)
	require.NoError(t, b.Release(t.Context(), old))
	h := refused(t, b, sealing())
	assert.Equal(t, driver.Draining, h.Reason)
	assert.Equal(t, "tester job", h.Holder)
	require.NoError(t, tx.Commit())
	sealed(t, p.store, b, sealing())
}

// A sealed grant is one statement, also if it is refused. For a name without a row it is three: the row is inserted first.
func TestPostgresSealsInOneStatement(t *testing.T) {
	p := newPostgresTest(t)
	acquire(t, p.Backend, request("first of all, which makes the server known"))
	for _, statements := range []int{3, 1} {
		p.sent.take()
		g := sealed(t, p.store, p.Backend, sealing())
		assert.Len(t, p.sent.take(), statements, "grant")
		refused(t, p.Backend, sealing())
		assert.Len(t, p.sent.take(), 1, "refusal")
		require.NoError(t, p.Release(t.Context(), g))
	}
}

// A sealed grant is durable even if the session commits asynchronously by default. Both settings that the statement
// changes are restored when it ends.
func TestASealedGrantIsDurable(t *testing.T) {
	p := newPostgresTest(t)
	r := sealing()
	g, err := p.Acquire(t.Context(), r)
	require.NoError(t, err)
	sent := p.sent.take()
	require.NoError(t, p.Release(t.Context(), g))
	s, conn := sent[len(sent)-1], p.async(t, "off")
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), s.SQL, s.Args...)
	require.NoError(t, err)
	var commit, limit string
	show := func() {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_setting('synchronous_commit'), current_setting('lock_timeout')").Scan(&commit, &limit))
	}
	show()
	assert.Equal(t, "on", commit)
	assert.NotEqual(t, "0", limit)
	require.NoError(t, tx.Rollback(t.Context()))
	show()
	assert.Equal(t, "off 0", commit+" "+limit)
}
