package orderspgx_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/examples/orders"
	"github.com/rowlock/rowlock/examples/orderspgx"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/migrations"
)

// migrate creates the tables of the orders, and those of the locks and the fence, through a pgx pool.
func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close() // does not close the pool
	files, err := fs.Sub(orders.Migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return err
	}
	return migrations.Up(ctx, db, migrations.Postgres)
}

// A holder that was suspended has not noticed that it lost its lock. Its calls of Place and AddLine return ErrStale
// and write nothing. The order of the next holder is complete.
func TestAStaleHolderWritesNothing(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), testenv.Postgres(t))
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, migrate(t.Context(), pool))
	guard, locks := fence.Pgx(pool), memlock.New()
	repository := orderspgx.NewOrderRepository(pool, guard)
	acquire := func() context.Context {
		locker, err := rowlock.New(locks, rowlock.Fenced(guard))
		require.NoError(t, err)
		t.Cleanup(func() { _ = locker.Close() }) // Close returns an error for a lease that was lost
		lease, err := locker.Acquire(t.Context(), "orders")
		require.NoError(t, err)
		return lease.Context()
	}

	paused := acquire()
	pear, plum := orders.Line{Product: "pear", Quantity: 2, Price: 150}, orders.Line{Product: "plum", Quantity: 10, Price: 20}
	require.NoError(t, repository.Place(paused, orders.Order{ID: 1, Customer: "Ada", Lines: []orders.Line{pear}}))
	locks.Expire(driver.Key{Name: "orders"})
	successor := acquire()
	require.NoError(t, repository.AddLine(successor, 1, plum))

	require.NoError(t, paused.Err(), "the holder has not noticed")
	require.ErrorIs(t, repository.AddLine(paused, 1, pear), fence.ErrStale)
	require.ErrorIs(t, repository.Place(paused, orders.Order{ID: 2, Customer: "Bob", Lines: []orders.Line{pear}}), fence.ErrStale)
	require.ErrorIs(t, repository.AddLine(t.Context(), 1, pear), fence.ErrNoLease)
	require.Error(t, repository.Place(successor, orders.Order{ID: 3, Lines: []orders.Line{pear, {Product: strings.Repeat("x", 300)}}}))

	got, err := repository.Find(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, orders.Order{ID: 1, Customer: "Ada", Total: 500, Lines: []orders.Line{pear, plum}}, got)
	for _, id := range []int64{2, 3} {
		_, err = repository.Find(t.Context(), id)
		require.ErrorIs(t, err, pgx.ErrNoRows, "an order and its lines are one transaction")
	}
}
