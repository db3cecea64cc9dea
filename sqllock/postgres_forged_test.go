package sqllock_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// forger is a session of a role that may only read the tables. Like any role, it can send notifications.
type forger struct {
	conn    *pgx.Conn
	channel string
	id      string
}

func newForger(t *testing.T, p *passing) *forger {
	t.Helper()
	role := fmt.Sprintf("reader_%d", tables.Add(1))
	p.exec(t, "CREATE ROLE "+role+" LOGIN")
	p.exec(t, "GRANT SELECT ON rowlock_lease, rowlock_lease_meta, rowlock_lease_waiter TO "+role)
	conn, err := pgx.Connect(t.Context(), strings.Replace(p.dsn, "://postgres@", "://"+role+"@", 1))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close(context.Background()))
		_, err := p.raw.ExecContext(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		require.NoError(t, err)
	})
	f := &forger{conn: conn}
	require.NoError(t, conn.QueryRow(t.Context(), p.sql("SELECT channel, id::text FROM rowlock_lease_waiter WHERE nonce = $1::text::uuid"), p.request.Nonce.String()).
		Scan(&f.channel, &f.id))
	_, err = conn.Exec(t.Context(), p.sql("UPDATE rowlock_lease SET token = token"))
	require.ErrorContains(t, err, "permission denied")
	return f
}

func (f *forger) notifies(t *testing.T, payload string) {
	t.Helper()
	_, err := f.conn.Exec(t.Context(), "SELECT pg_notify($1, $2)", f.channel, payload)
	require.NoError(t, err)
}

// payloads returns the payloads with which a release could report a grant to r, in the formats of all versions so
// far.
func (f *forger) payloads(r driver.Request, token driver.Token) []string {
	return []string{
		f.id,
		f.id + " granted",
		fmt.Sprintf("%s %s %s", f.id, r.Nonce, token),
		fmt.Sprintf("%s %s %s", f.id, r.Nonce, token+1),
		fmt.Sprintf("%s %s %d", f.id, r.Nonce, int64(math.MaxInt64)),
		fmt.Sprintf("%s %s 1", f.id, r.Nonce),
		fmt.Sprintf("%s %s %s", f.id, driver.NewNonce(), token+1),
	}
}

// A role that can read the tables and send any notification cannot make a waiter believe that it was granted the
// lock.
func TestPostgresAForgedCallGrantsNothing(t *testing.T) {
	t.Parallel()
	t.Run("while the lock is held", func(t *testing.T) {
		t.Parallel()
		p := newPassing(t, request("job"))
		f := newForger(t, p)
		for _, payload := range f.payloads(p.request, p.held.Token) {
			f.notifies(t, payload)
			within(t, p.woken)
			g, err := p.waiter.backend.Acquire(t.Context(), p.request)
			require.Equal(t, driver.Leased, held(t, err, "%s made %+v", payload, g).Reason, payload)
		}
		assert.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, p.holder.backend, p.held))
	})
	t.Run("beside a grant", func(t *testing.T) {
		t.Parallel()
		p := newPassing(t, request("job"))
		f := newForger(t, p)
		require.NoError(t, p.holder.backend.Release(t.Context(), p.held))
		within(t, p.woken)
		for _, payload := range f.payloads(p.request, p.held.Token) {
			f.notifies(t, payload)
			within(t, p.woken)
		}
		g, err := p.waiter.backend.Acquire(t.Context(), p.request)
		require.NoError(t, err)
		assert.EqualValues(t, p.int(t, "SELECT token FROM rowlock_lease"), g.Token)
		assert.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, p.waiter.backend, g))
	})
	for name, end := range map[string]string{
		"after a grant that was ended": "UPDATE rowlock_lease SET nonce = NULL, held_until = clock_timestamp() + interval '1 hour'",
		"after a grant that expired": "UPDATE rowlock_lease SET acquired_at = acquired_at - interval '1 hour', expires_at = clock_timestamp() - interval '1 microsecond', " +
			"held_until = clock_timestamp() + interval '1 hour', nonce = gen_random_uuid()",
		"after a grant to another": "UPDATE rowlock_lease SET nonce = gen_random_uuid(), token = token + 1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPassing(t, request("job"))
			f := newForger(t, p)
			require.NoError(t, p.holder.backend.Release(t.Context(), p.held))
			within(t, p.woken)
			token := p.int(t, "SELECT token FROM rowlock_lease")
			p.exec(t, end)
			for _, payload := range f.payloads(p.request, driver.Token(token)) {
				f.notifies(t, payload)
				within(t, p.woken)
				g, err := p.waiter.backend.Acquire(t.Context(), p.request)
				held(t, err, "%s made %+v", payload, g)
			}
		})
	}
}

// After a forged notification of a grant, the waiting locker continues to wait, and the holder keeps its lease.
func TestPostgresALockerIsNotDeceivedByACall(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2)
	lease, err := c.members[0].Acquire(t.Context(), "job")
	require.NoError(t, err)
	got := make(chan driver.Token)
	go func() {
		next, err := c.members[1].Acquire(t.Context(), "job")
		if assert.NoError(t, err) {
			got <- next.Token()
			assert.NoError(t, next.Release(t.Context()))
		}
	}()
	until(t, "the request is left", func() bool {
		return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE nonce IS NOT NULL AND channel <> ''") == 1
	})
	for range 20 {
		c.members[1].sent.take()
		c.exec(t, "SELECT pg_notify(channel, id || ' ' || nonce || ' 9000000000000000000') FROM rowlock_lease_waiter")
		c.exec(t, "SELECT pg_notify(channel, id || ' granted') FROM rowlock_lease_waiter")
		until(t, "it has looked", func() bool { return len(c.members[1].sent.take()) > 0 })
		require.Empty(t, got)
	}
	select {
	case token := <-got:
		require.Failf(t, "a second holder", "token %s beside %s", token, lease.Token())
	default:
	}
	require.NoError(t, lease.Release(t.Context()))
	token := within(t, got)
	assert.Greater(t, token, lease.Token())
	assert.Less(t, token, driver.Token(9000000000000000000))
}
