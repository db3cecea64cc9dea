package sqllock_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
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
	b.ReportMetric(medianUS(acquires), "acquire-us")
	b.ReportMetric(medianUS(releases), "release-us")
	b.ReportMetric(medianUS(updates), "update-us")
	b.ReportMetric(100*2*medianUS(updates)/(medianUS(acquires)+medianUS(releases)), "%ofTwoUpdates")
}

// medianUS returns the median in microseconds.
func medianUS(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Nanoseconds()) / 1e3
}

// BenchmarkPostgresReaders compares acquire and release of a reader with those of a writer, and measures one reader
// among 64. The variants alternate, so that a busy machine slows them equally. The reported figures are medians.
func BenchmarkPostgresReaders(b *testing.B) {
	ctx := b.Context()
	dsn := testenv.Postgres(b)
	config, err := pgxpool.ParseConfig(dsn)
	require.NoError(b, err)
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(ctx, config)
	require.NoError(b, err)
	defer pool.Close()
	require.NoError(b, migrations.Up(ctx, openDB(b, dsn), migrations.Postgres))
	locks := sqllock.Pgx(pool)
	var crowd []driver.Grant
	for range 63 {
		g, err := locks.Acquire(ctx, reading("crowded"))
		require.NoError(b, err)
		crowd = append(crowd, g)
	}
	figures := map[string][]time.Duration{}
	timed := func(what string, work func() error) {
		start := time.Now()
		err := work()
		figures[what] = append(figures[what], time.Since(start))
		require.NoError(b, err)
	}
	cycle := func(what string, r driver.Request) {
		var g driver.Grant
		timed(what+"-acquire-us", func() (err error) { g, err = locks.Acquire(ctx, r); return err })
		timed(what+"-renew-us", func() error { _, err := locks.Renew(ctx, []driver.Grant{g}); return err })
		timed(what+"-release-us", func() error { return locks.Release(ctx, g) })
	}
	for b.Loop() {
		cycle("writer", request("job"))
		cycle("reader", reading("job"))
		cycle("64th", reading("crowded"))
		timed("all-63-renew-us", func() error { _, err := locks.Renew(ctx, crowd); return err })
	}
	for what, took := range figures {
		b.ReportMetric(medianUS(took), what)
	}
	both := func(who string) float64 {
		return medianUS(figures[who+"-acquire-us"]) + medianUS(figures[who+"-release-us"])
	}
	b.ReportMetric(both("reader")/both("writer"), "reader/writer")
	b.ReportMetric(both("64th")/both("writer"), "64th/writer")
}
