package sqllock_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// crowd is a database, and lockers with backends, pools and recorders of their own, as so many processes.
type crowd struct {
	*store

	dsn     string
	members []*member
}

type member struct {
	*rowlock.Locker

	backend *sqllock.Backend
	sent    *recorder
}

func newCrowd(t *testing.T, members int, opts ...rowlock.Option) *crowd {
	t.Helper()
	c := &crowd{dsn: testenv.Postgres(t)}
	c.store = &store{table: "rowlock_lease", dialect: migrations.Postgres, raw: openDB(t, c.dsn)}
	require.NoError(t, migrations.Up(t.Context(), c.raw, migrations.Postgres))
	for range members {
		c.join(t, c.dsn, opts...)
	}
	return c
}

// join adds a member that reaches the database by dsn.
func (c *crowd) join(t *testing.T, dsn string, opts ...rowlock.Option) *member {
	t.Helper()
	config, err := pgxpool.ParseConfig(dsn)
	require.NoError(t, err)
	m := &member{sent: &recorder{}}
	config.ConnConfig.Tracer = m.sent
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	m.backend = sqllock.Pgx(pool)
	m.Locker, err = rowlock.New(m.backend, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	c.members = append(c.members, m)
	return m
}

// waits until so many processes wait.
func (c *crowd) waits(t *testing.T, n int64) {
	t.Helper()
	until(t, "the waiters are registered", func() bool { return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter") == n })
}

// contest has every member acquire, hold for a millisecond and release, for so long. It returns how often each was served, and what the hand-overs
// took, from before the release until the next one had the lock.
func (c *crowd) contest(t *testing.T, waitersEach int, d time.Duration) (served []int, took []time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	served = make([]int, len(c.members))
	var mu sync.Mutex
	var released time.Time
	var group sync.WaitGroup
	for i, m := range c.members {
		for range waitersEach {
			group.Go(func() {
				for ctx.Err() == nil {
					lease, err := m.Acquire(ctx, "job")
					if err != nil {
						assert.ErrorIs(t, err, context.DeadlineExceeded)
						return
					}
					mu.Lock()
					served[i]++
					if !released.IsZero() {
						took = append(took, time.Since(released))
					}
					mu.Unlock()
					time.Sleep(time.Millisecond)
					mu.Lock()
					released = time.Now()
					mu.Unlock()
					assert.NoError(t, lease.Release(t.Context()))
				}
			})
		}
	}
	group.Wait()
	slices.Sort(took)
	return served, took
}

// A release wakes a waiter of another process at once, and not with its poll.
func TestPostgresReleaseWakesTheWaiterOfAnotherProcess(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2)
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

// The lock goes round: the least served of eight processes gets at least half of its fair share.
func TestPostgresNobodyStarves(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 8)
	served, took := c.contest(t, 1, 2*time.Second)
	total, statements := 0, 0
	for i, n := range served {
		total += n
		statements += len(c.members[i].sent.take())
	}
	t.Logf("%d hand-overs, p50 %s, p99 %s, %.1f statements each, served %v", total, took[len(took)/2], took[len(took)*99/100], float64(statements)/float64(total), served)
	assert.GreaterOrEqual(t, slices.Min(served), total/len(served)/2)
	_ = driver.Reserved
}
