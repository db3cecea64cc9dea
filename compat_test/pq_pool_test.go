package compat_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/sqllock"
)

// With lib/pq, leases are renewed and released while the application's transactions use the whole pool.
// Acquire reports an error if the pool has no free connection.
func TestLeasesOutliveAFullPoolWithPQ(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	db := open(t, "postgres", database(t)+"&connect_timeout=5")
	db.SetMaxOpenConns(2)
	renewed := make(chan struct{}, 1)
	locker, err := rowlock.New(sqllock.Postgres(db), rowlock.TTL(time.Minute), rowlock.RenewEvery(200*time.Millisecond),
		rowlock.Tracing(&rowlock.Trace{Renewed: func(rowlock.RenewedEvent) {
			select {
			case renewed <- struct{}{}:
			default:
			}
		}}))
	require.NoError(t, err)
	defer locker.Close() //nolint:errcheck // released below
	assert.Empty(t, locker.Capabilities().Warnings)
	lease, err := locker.Acquire(t.Context(), "a")
	require.NoError(t, err)
	begin(t, db)
	begin(t, db)
	select { // the channel may still contain one earlier event
	case <-renewed:
	default:
	}
	for range 4 {
		select {
		case <-renewed:
		case <-lease.Context().Done():
			require.NoError(t, lease.Err())
		}
	}
	_, err = locker.TryAcquire(t.Context(), "b", rowlock.TTL(time.Second))
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	require.ErrorContains(t, err, "no free connection in the pool (2 of 2 in use)")
	require.NoError(t, lease.Release(t.Context()))
}

// With lib/pq, the backend detects whether connection attempts have a timeout. The backend detects this for every way
// to open a *sql.DB.
func TestUnboundedConnectsWithPQ(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	for dsn, warnings := range map[string]int{"postgres://app@db/app": 1, "postgres://app@db/app?connect_timeout=5": 0} {
		connector, err := pq.NewConnector(dsn)
		require.NoError(t, err)
		made := sql.OpenDB(connector)
		defer made.Close()
		for _, db := range []*sql.DB{open(t, "postgres", dsn), made} {
			assert.Len(t, sqllock.Postgres(db).Capabilities().Warnings, warnings, dsn)
		}
	}
}
