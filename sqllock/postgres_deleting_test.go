package sqllock_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// beforeEach is a tracer that calls the function do before each statement of a pool.
type beforeEach struct{ do func(statement string) }

func (b beforeEach) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	b.do(q.SQL)
	return ctx
}

func (beforeEach) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// If a waiter joins while the row of an earlier waiter is being deleted, a release wakes the new waiter, even if the
// release notifies the earlier row.
func TestPostgresAWaiterBesideARowThatIsBeingDeletedIsWoken(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"by a release of its process": true, "by another's": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t, 1)
			config, err := pgxpool.ParseConfig(c.dsn)
			require.NoError(t, err)
			deletes, goOn := make(chan struct{}, 8), make(chan struct{})
			config.ConnConfig.Tracer = beforeEach{func(statement string) {
				if strings.Contains(statement, "DELETE FROM") && strings.Contains(statement, "json_to_recordset") {
					deletes <- struct{}{}
					<-goOn
				}
			}}
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			b := c.over(pool)
			key := driver.Key{Name: "job"}
			holder := c.members[0].backend
			if own {
				holder = b
			}
			g := acquire(t, holder, request("job"))
			stop, err := b.Notify(t.Context(), key, func() {})
			require.NoError(t, err)
			go stop()
			<-deletes
			woken := make(chan struct{}, 8)
			stop, err = b.Notify(t.Context(), key, func() { woken <- struct{}{} })
			require.NoError(t, err)
			require.Equal(t, int64(2), c.int(t, "SELECT count(*) FROM rowlock_lease_waiter"))
			require.NoError(t, holder.Release(t.Context(), g))
			close(goOn)
			select {
			case <-woken:
			case <-limited(t).Done():
				assert.Fail(t, "the waiter was not woken")
			}
			stop()
			b.CloseIdle(t.Context())
		})
	}
}

// Promise 5 of docs/guarantees.md: if an acquire fails, its request is removed from the waiter's row, even if the
// listener's connection broke before the acquire's last attempt.
func TestPostgresARequestIsTakenBackThoughTheListenerBroke(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 1)
	holder := c.members[0].backend
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	const listener = "SELECT count(*) FROM pg_locks l, rowlock_lease_waiter w WHERE w.nonce IS NOT NULL AND l.locktype = 'advisory' AND l.objsubid = 1 " +
		"AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended(w.channel, 0)"
	var tries atomic.Int32
	err := c.leaves(ctx, t, func() {
		switch tries.Add(1) {
		case 1:
			c.exec(t, strings.Replace(listener, "count(*)", "pg_terminate_backend(l.pid)", 1))
			until(t, "the listener is gone", func() bool { return c.int(t, listener) == 0 })
		case 3:
			giveUp()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE nonce IS NOT NULL"), "a release can grant the lock to nobody")
	require.NoError(t, holder.Release(t.Context(), acquire(t, holder, request("job"))))
}
