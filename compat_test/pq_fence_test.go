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
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/memlock"
)

// With lib/pq a guard's own calls end with their context too, wherever in them the server falls silent.
func TestASilentServerHoldsNoGuardUpWithPQ(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	locker, err := rowlock.New(memlock.New())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locker.Close()) })
	lease, err := locker.Acquire(t.Context(), "r")
	require.NoError(t, err)
	require.NoError(t, fence.Postgres(open(t, "postgres", dsn)).Seal(t.Context(), lease))
	for what, call := range map[string]func(context.Context, *fence.Guard) error{
		"Seal": func(ctx context.Context, g *fence.Guard) error { return g.Seal(ctx, lease) },
		"Tx": func(ctx context.Context, g *fence.Guard) error {
			deadline, _ := ctx.Deadline()
			ctx, cancel := context.WithDeadline(lease.Context(), deadline)
			defer cancel()
			return g.Tx(ctx, func(context.Context, *sql.Tx) error { return nil })
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			step := 0
			for silent(t, dsn, step, call) {
				step++
				require.Less(t, step, 100)
			}
			assert.Greater(t, step, 3, "a login, and a transaction")
		})
	}
}

// silent cuts the network after so many steps of a call, and reports whether it had so many.
func silent(t *testing.T, dsn string, step int, call func(context.Context, *fence.Guard) error) bool {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	proxy, err := faultproxy.New(u.Host)
	require.NoError(t, err)
	u.Host = proxy.Addr()
	db, err := sql.Open("postgres", u.String())
	require.NoError(t, err)
	defer db.Close()
	defer proxy.Close()
	proxy.CutAfter(step)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- call(ctx, fence.Postgres(db)) }()
	select {
	case err := <-done:
		if proxy.IsCut() || ctx.Err() != nil /* of a slow machine */ {
			return true
		}
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		proxy.Close()
		require.FailNow(t, "it waits without a bound", "step %d: %v", step, <-done)
	}
	return false
}
