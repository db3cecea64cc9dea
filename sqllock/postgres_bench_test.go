package sqllock_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// BenchmarkPostgresCycle compares acquire and release with two bare updates of one row on the same connection. The
// two variants alternate, so that a busy machine slows both equally. The reported figures are medians.
func BenchmarkPostgresCycle(b *testing.B) {
	ctx := b.Context()
	dsn := testenv.Postgres(b)
	config, err := pgxpool.ParseConfig(dsn)
	require.NoError(b, err)
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(ctx, config)
	require.NoError(b, err)
	defer pool.Close()
	db := openDB(b, dsn)
	require.NoError(b, migrations.Up(ctx, db, migrations.Postgres))
	locks := sqllock.Pgx(pool)
	var acquires, releases, updates []time.Duration
	timed := func(into *[]time.Duration, work func() error) {
		start := time.Now()
		err := work()
		*into = append(*into, time.Since(start))
		require.NoError(b, err)
	}
	bare := func() error {
		_, err := pool.Exec(ctx, "UPDATE rowlock_lease SET token = token + 1 WHERE namespace = $1 AND name = $2", "", "bare")
		return err
	}
	_, err = locks.Acquire(ctx, request("bare"))
	require.NoError(b, err)
	for b.Loop() {
		g, err := locks.Acquire(ctx, request("job"))
		require.NoError(b, err)
		require.NoError(b, locks.Release(ctx, g))
		r := request("job")
		timed(&acquires, func() (err error) { g, err = locks.Acquire(ctx, r); return err })
		timed(&releases, func() error { return locks.Release(ctx, g) })
		timed(&updates, bare)
		timed(&updates, bare)
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2].Nanoseconds()) / 1e3
	}
	b.ReportMetric(median(acquires), "acquire-us")
	b.ReportMetric(median(releases), "release-us")
	b.ReportMetric(median(updates), "update-us")
	b.ReportMetric(100*2*median(updates)/(median(acquires)+median(releases)), "%ofTwoUpdates")
}
