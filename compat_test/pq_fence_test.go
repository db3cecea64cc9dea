package compat_test

import (
	"context"
	"database/sql"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/memlock"
)

// A fence.Guard makes a database reject writes of old lease holders. With lib/pq, each call of a Guard returns when the
// context of the call ends. This holds no matter at which statement of the call the server stops answering.
func TestASilentServerHoldsNoGuardUpWithPQ(t *testing.T) {
	testenv.Compat(t)
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
			faultnet.Silence(t, 3, func() (*faultproxy.Proxy, func(context.Context) error, func()) {
				u, err := url.Parse(dsn)
				require.NoError(t, err)
				proxy, err := faultproxy.New(u.Host)
				require.NoError(t, err)
				u.Host = proxy.Addr()
				db, err := sql.Open("postgres", u.String())
				require.NoError(t, err)
				return proxy, func(ctx context.Context) error { return call(ctx, fence.Postgres(db)) }, func() {
					proxy.Close() // closed first, because a hanging call would delay the Close of the pool
					_ = db.Close()
				}
			})
		})
	}
}
