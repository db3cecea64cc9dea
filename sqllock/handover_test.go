package sqllock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock"
)

// A hand-over is refused while something prevents every grant. For example, the meta row says that another server made
// the last grants. The holder keeps its grant and can release it. The next acquire then updates the meta row.
func TestAHandOverIsRefusedWhereAnAcquireWouldBe(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		stays := func(g driver.Grant, r driver.Request, why driver.Reason) {
			t.Helper()
			_, err := b.HandOver(t.Context(), g, r)
			require.Equal(t, why, held(t, err).Reason)
			require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, b, g))
		}
		g := acquire(t, b, request("job"))
		long := request("job")
		long.TTL = time.Hour
		stays(g, long, driver.Leased)
		require.NoError(t, b.Release(t.Context(), g))
		g = acquire(t, b, long)
		s.exec(t, "UPDATE rowlock_lease_meta SET epoch = 'another server'")
		stays(g, request("job"), driver.Quarantine)
		refused(t, b, request("other"))
		stays(g, request("job"), driver.Quarantine)
		s.grow(t, 2*time.Hour)
		_, err := b.HandOver(t.Context(), g, request("job"))
		require.ErrorIs(t, err, driver.ErrNotHeld, "expired")
		g = acquire(t, b, request("job"))
		s.exec(t, "UPDATE rowlock_lease_meta SET floor = 9000000000000000")
		next, err := b.HandOver(t.Context(), g, request("job"))
		require.NoError(t, err)
		require.EqualValues(t, 9000000000000001, next.Token, "above the floor")
	})
}

// asked counts the requests that several backends send.
type asked struct {
	*sqllock.Backend
	handed, others *atomic.Int64
}

func (a asked) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	a.others.Add(1)
	return a.Backend.Acquire(ctx, r)
}

func (a asked) Release(ctx context.Context, g driver.Grant) error {
	a.others.Add(1)
	return a.Backend.Release(ctx, g)
}

func (a asked) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	g, err := a.Backend.HandOver(ctx, from, r)
	if err == nil {
		a.handed.Add(1)
	} else {
		a.others.Add(1)
	}
	return g, err
}

// The callers of one process hand a lock over to each other while another process competes for the lock. No two
// callers hold the lock at the same time. A hand-over takes fewer requests than a release plus an acquire.
func TestACrowdHandsOver(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		const waiters, rounds = 12, 4
		var h history
		var handed, others atomic.Int64
		var wg sync.WaitGroup
		for range 2 {
			l, err := rowlock.New(asked{s.open(), &handed, &others}, rowlock.TTL(time.Minute))
			require.NoError(t, err)
			defer func() { assert.NoError(t, l.Close()) }()
			for range waiters {
				wg.Go(func() {
					for range rounds {
						lease, err := l.Acquire(t.Context(), "job")
						if !assert.NoError(t, err) {
							return
						}
						h.grant(t, lease.Token())
						time.Sleep(time.Millisecond)
						h.end(t, lease.Token())
						assert.NoError(t, lease.Release(t.Context()))
					}
				})
			}
		}
		wg.Wait()
		each := float64(handed.Load()+others.Load()) / (2 * waiters * rounds)
		t.Logf("%d of %d handed over, %.2f requests each", handed.Load(), 2*waiters*rounds, each)
		assert.Greater(t, handed.Load(), int64(waiters), "else it is not used")
	})
}

// A hand-over is durable, as any grant is: it survives a crash of the server. The statement changes synchronous_commit
// for itself only: the session's own value remains.
func TestPostgresHandOverIsDurable(t *testing.T) {
	p := newPostgresTest(t)
	g := acquire(t, p.Backend, request("job"))
	p.sent.take()
	_, err := p.HandOver(t.Context(), g, request("job"))
	require.NoError(t, err)
	sent := p.sent.take()
	require.Len(t, sent, 1, "one statement")
	conn := p.async(t, "off")
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	var value string
	_, err = tx.Exec(t.Context(), sent[0].SQL, sent[0].Args...) // runs the same statement in a transaction, in which the changed settings can be read
	require.NoError(t, err)
	require.NoError(t, tx.QueryRow(t.Context(), "SELECT current_setting('synchronous_commit')").Scan(&value))
	assert.Equal(t, "on", value)
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_setting('synchronous_commit')").Scan(&value))
	assert.Equal(t, "off", value)
}
