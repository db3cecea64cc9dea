package compat_test

import (
	"context"
	"database/sql"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/sqllock"
)

// With lib/pq, sqllock keeps the driver contract, even if clients die, are cut off, or lose replies.
// lib/pq makes this hard: it opens connections without a context, and waits for a reply until the connection ends.
func TestConformanceOfLeaseRowsWithPQ(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	locktest.Run(t, func(tb testing.TB) locktest.Harness {
		dsn := database(tb)
		return &leaseRows{dsn: dsn, raw: open(tb, "pgx", dsn), Clients: faultnet.New(tb)}
	})
}

// leaseRows is a Postgres database with lease rows and lib/pq clients. Each client has its own faulty network.
type leaseRows struct {
	dsn string
	raw *sql.DB

	*faultnet.Clients
}

var (
	_ locktest.Closer       = (*leaseRows)(nil)
	_ locktest.Expirer      = (*leaseRows)(nil)
	_ locktest.Crasher      = (*leaseRows)(nil)
	_ locktest.Partitioner  = (*leaseRows)(nil)
	_ locktest.ReplyDropper = (*leaseRows)(nil)
)

func (l *leaseRows) Open(context.Context) (driver.Backend, error) {
	u, err := url.Parse(l.dsn)
	if err != nil {
		return nil, err
	}
	proxy, err := faultproxy.New(u.Host)
	if err != nil {
		return nil, err
	}
	u.Host = proxy.Addr()
	db, err := sql.Open("postgres", u.String())
	if err != nil {
		proxy.Close()
		return nil, err
	}
	b := sqllock.Postgres(db)
	l.Add(b, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		b.CloseIdle(ctx)
		_ = db.Close() // returns an error because connections are broken
	}, proxy)
	return b, nil
}

func (l *leaseRows) Expire(ctx context.Context, key driver.Key) error {
	_, err := l.raw.ExecContext(ctx, "UPDATE rowlock_lease SET expires_at = expires_at - past, held_until = held_until - past FROM "+
		"(SELECT expires_at - clock_timestamp() AS past FROM rowlock_lease WHERE namespace = $1 AND name = $2) p WHERE namespace = $1 AND name = $2 AND past > interval '0'",
		key.Namespace, key.Name)
	return err
}

// With lib/pq, a backend cannot receive notifications, because lib/pq does not give access to a connection that
// receives them. A release still reserves the lock for the next waiter in the queue. The waiter finds the reservation
// by polling. The backend's capabilities say that it polls.
func TestWaitingForALeaseRowWithPQ(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	dsn := database(t)
	direct := open(t, "pgx", dsn)
	var lockers []*rowlock.Locker
	for range 2 {
		l, err := rowlock.New(sqllock.Postgres(open(t, "postgres", dsn)))
		require.NoError(t, err)
		defer l.Close() //nolint:errcheck // released below
		lockers = append(lockers, l)
	}
	lease, err := lockers[0].Acquire(t.Context(), "a")
	require.NoError(t, err)
	got := make(chan *rowlock.Lease, 1)
	go func() {
		next, err := lockers[1].Acquire(t.Context(), "a")
		assert.NoError(t, err)
		got <- next
	}()
	require.Eventually(t, func() bool {
		n := 0
		return direct.QueryRow("SELECT count(*) FROM rowlock_lease_waiter WHERE channel = ''").Scan(&n) == nil && n == 1
	}, 20*time.Second, 5*time.Millisecond)
	assert.False(t, lockers[1].Capabilities().Wakes)
	require.NoError(t, lease.Release(t.Context()))
	next := <-got
	require.NoError(t, next.Release(t.Context()))
}
