package advisory_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
)

// BenchmarkCycle measures one acquire and release. "bare" is the baseline: the two SQL statements alone,
// on a connection from the pool. "no-token" and "token" are the backend, which borrows a connection for each cycle.
// "held-beside" acquires on a session that already holds other locks. "heartbeat-100" is one renewal of a hundred
// locks. The variants alternate, so that load on the machine slows all of them equally. The figures are medians.
func BenchmarkCycle(b *testing.B) {
	ctx := b.Context()
	dsn := database(b)
	pool := openPool(b, dsn, conns(8))
	plain, tokens := advisory.New(pool, advisory.NoToken()), advisory.New(pool)
	busy := advisory.New(pool, advisory.Sessions(1))
	beside, err := busy.Acquire(ctx, request("beside"))
	require.NoError(b, err)
	defer func() { _ = busy.Release(ctx, beside) }()
	figures := map[string][]time.Duration{}
	timed := func(name string, work func() error) {
		began := time.Now()
		err := work()
		figures[name] = append(figures[name], time.Since(began))
		require.NoError(b, err)
	}
	cycle := func(of *advisory.Backend) func() error {
		return func() error {
			g, err := of.Acquire(ctx, request("job"))
			if err == nil {
				err = of.Release(ctx, g)
			}
			return err
		}
	}
	var grants []driver.Grant
	for i := range 100 {
		g, err := busy.Acquire(ctx, request(string(rune('一'+i))))
		require.NoError(b, err)
		grants = append(grants, g)
	}
	for b.Loop() {
		timed("bare", func() error {
			c, err := pool.Acquire(ctx)
			if err != nil {
				return err
			}
			defer c.Release()
			var done bool
			for _, statement := range []string{"SELECT pg_try_advisory_lock($1)", "SELECT pg_advisory_unlock($1)"} {
				if err := c.QueryRow(ctx, statement, 4711).Scan(&done); err != nil {
					return err
				}
			}
			return nil
		})
		timed("no-token", cycle(plain))
		timed("token", cycle(tokens))
		timed("held-beside", cycle(busy))
		timed("heartbeat-100", func() error {
			_, err := busy.Renew(ctx, grants)
			return err
		})
	}
	median := func(name string) float64 {
		d := figures[name]
		slices.Sort(d)
		return float64(d[len(d)/2].Nanoseconds()) / 1e3
	}
	for _, name := range []string{"bare", "no-token", "token", "held-beside", "heartbeat-100"} {
		b.ReportMetric(median(name), name+"-us")
	}
	b.ReportMetric(median("token")/median("bare"), "token/bare")
	for _, name := range []string{"no-token", "token"} { // reports the mean too: PostgreSQL writes a sequence to disk once per 32 numbers, so one grant in 32 is slow, and a median hides it
		sum := time.Duration(0)
		for _, d := range figures[name] {
			sum += d
		}
		b.ReportMetric(float64(sum.Nanoseconds())/1e3/float64(len(figures[name])), name+"-mean-us")
	}
	for _, g := range grants {
		require.NoError(b, busy.Release(ctx, g))
	}
}
