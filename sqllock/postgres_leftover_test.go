package sqllock_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock"
)

// A statement records a request if it stores the request in the waiter's row, so that a release may grant it.
// afterwards is a tracer that calls its function after the reply to such a statement.
type afterwards struct{ then func() }

type asksKey struct{}

func (a afterwards) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, asksKey{}, strings.Contains(d.SQL, "queued"))
}

func (a afterwards) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if asks, _ := ctx.Value(asksKey{}).(bool); asks {
		a.then()
	}
}

// Promise 5 of docs/guarantees.md: if the first statement of an attempt has recorded a request, and the waiter stops
// waiting before the next statement, the waiter withdraws that request. Otherwise a release would grant the lock to a
// request without a waiter, and the lock would be unavailable for a TTL.
func TestPostgresARequestIsTakenBackBetweenTwoStatements(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 1)
	holder := c.members[0].backend
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	require.ErrorIs(t, c.leaves(ctx, t, giveUp), context.Canceled)

	c.exec(t, "UPDATE rowlock_lease_waiter SET since = since + interval '1 hour' WHERE nonce IS NULL")
	require.NoError(t, holder.Release(t.Context(), acquire(t, holder, request("job"))))
	assert.Zero(t, c.int(t, "SELECT count(*) FROM rowlock_lease WHERE nonce IS NOT NULL"), "leases that nobody knows of")
}

// Promise 5 of docs/guarantees.md: an attempt also withdraws its recorded request if its next statement fails with a
// permanent error, for example because the table was dropped. The error says that the attempt had no effect, so no
// later call withdraws the request.
func TestPostgresARequestIsTakenBackBeforeAPermanentError(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 1)
	var once sync.Once
	err := c.leaves(t.Context(), t, func() {
		once.Do(func() { c.exec(t, "ALTER TABLE rowlock_lease_meta RENAME TO elsewhere") })
	})
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	require.True(t, driver.IsPermanent(err), "%v", err)
}

// leaves makes another process acquire a contended lock, and returns the error of that attempt. When the process has
// recorded its request in its row, the method calls the given function. After that, the attempt sends its next
// statement. At the end, the method asserts that no row contains a request.
func (c *crowd) leaves(ctx context.Context, t *testing.T, then func()) error {
	t.Helper()
	holder := c.members[0].backend
	config, err := pgxpool.ParseConfig(c.dsn)
	require.NoError(t, err)
	config.ConnConfig.Tracer = afterwards{then}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := sqllock.Pgx(pool)
	waiter, err := rowlock.New(b)
	require.NoError(t, err)
	for _, each := range []*sqllock.Backend{holder, b} { // keeps the process's row, as other waiting goroutines of the process would
		stop, err := each.Notify(t.Context(), driver.Key{Name: "job"}, func() {})
		require.NoError(t, err)
		t.Cleanup(stop)
	}
	until(t, "both listen", func() bool { return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE channel <> ''") == 2 })
	require.NoError(t, holder.Release(t.Context(), acquire(t, holder, request("job"))))
	until(t, "nobody has it", func() bool {
		return c.int(t, "SELECT count(*) FROM rowlock_lease WHERE held_until <= clock_timestamp()") == 1
	})
	tx := c.begin(t)
	_, err = tx.ExecContext(t.Context(), "SELECT FROM rowlock_lease FOR UPDATE") // makes the lock contended
	require.NoError(t, err)
	_, failure := waiter.Acquire(ctx, "job")
	require.NoError(t, waiter.Close())
	assert.Zero(t, c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE nonce IS NOT NULL"), "requests")
	require.NoError(t, tx.Rollback())
	return failure
}
