package compat_test

import (
	"context"
	"database/sql"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
)

// Promise 10 of docs/guarantees.md: with lib/pq, the functions Up, Down and Status return when their context ends, no
// matter at which statement the server stops answering. After an interrupted Up, the next Up continues where the first
// one stopped.
func TestASilentServerHoldsNoMigrationUpWithPQ(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	up := func(ctx context.Context, db *sql.DB) error { return migrations.Up(ctx, db, migrations.Postgres) }
	for what, c := range map[string]struct {
		migrated bool
		call     func(context.Context, *sql.DB) error
	}{
		"Up": {false, up},
		"Down": {true, func(ctx context.Context, db *sql.DB) error {
			return migrations.Down(ctx, db, migrations.Postgres)
		}},
		"Status": {true, func(ctx context.Context, db *sql.DB) error {
			_, err := migrations.Status(ctx, db, migrations.Postgres)
			return err
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dsn := testenv.Postgres(t)
			if c.migrated {
				require.NoError(t, up(t.Context(), open(t, "pgx", dsn)))
			}
			faultnet.Silence(t, 2, func() (*faultproxy.Proxy, func(context.Context) error, func()) {
				u, err := url.Parse(dsn)
				require.NoError(t, err)
				proxy, err := faultproxy.New(u.Host)
				require.NoError(t, err)
				u.Host = proxy.Addr()
				db, err := sql.Open("postgres", u.String())
				require.NoError(t, err)
				return proxy, func(ctx context.Context) error { return c.call(ctx, db) }, func() {
					proxy.Close() // closed first, because a hanging call would delay the Close of the pool
					_ = db.Close()
				}
			})
			list, err := migrations.Status(t.Context(), open(t, "pgx", dsn), migrations.Postgres)
			require.NoError(t, err)
			for _, m := range list {
				require.True(t, m.Applied || what == "Down", m.Name)
			}
		})
	}
}
