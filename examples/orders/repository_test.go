package orders_test

import (
	"context"
	"database/sql"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/examples/orders"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/migrations"
)

// migrate creates the tables of the orders, and those of the locks and the fence.
func migrate(ctx context.Context, db *sql.DB, dialect migrations.Dialect) error {
	files, err := fs.Sub(orders.Migrations, "migrations")
	if err != nil {
		return err
	}
	own := map[migrations.Dialect]goose.Dialect{
		migrations.Postgres: goose.DialectPostgres, migrations.MySQL: goose.DialectMySQL, migrations.SQLite: goose.DialectSQLite3,
	}[dialect]
	provider, err := goose.NewProvider(own, db, files)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return err
	}
	return migrations.Up(ctx, db, dialect)
}

func questionMarks(statement string) string { return statement }

// dollars replaces each "?" with a parameter in the syntax of Postgres.
func dollars(statement string) string {
	parts := strings.Split(statement, "?")
	for i := range len(parts) - 1 {
		parts[i] += "$" + strconv.Itoa(i+1)
	}
	return strings.Join(parts, "")
}

// A holder that was suspended has not noticed that it lost its lock. Its calls of Place and AddLine return ErrStale
// and write nothing. The order of the next holder is complete.
func TestAStaleHolderWritesNothing(t *testing.T) {
	t.Parallel()
	for _, db := range []struct {
		name, driver string
		dialect      migrations.Dialect
		dsn          func(testing.TB) string
		guard        func(*sql.DB, ...fence.Option) *fence.Guard
		bind         func(string) string
	}{
		{"postgres", "pgx", migrations.Postgres, testenv.Postgres, fence.Postgres, dollars},
		{"mysql", "mysql", migrations.MySQL, testenv.MySQL, fence.MySQL, questionMarks},
		{"mariadb", "mysql", migrations.MySQL, testenv.MariaDB, fence.MySQL, questionMarks},
		{"sqlite", "sqlite", migrations.SQLite, func(tb testing.TB) string {
			return "file:" + filepath.Join(tb.TempDir(), "orders.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)"
		}, fence.SQLite, questionMarks},
	} {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			conn, err := sql.Open(db.driver, db.dsn(t))
			require.NoError(t, err)
			defer conn.Close()
			require.NoError(t, migrate(t.Context(), conn, db.dialect))
			guard, locks := db.guard(conn), memlock.New()
			repository := orders.NewOrderRepository(conn, guard, db.bind)
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

			got, err := repository.Find(t.Context(), 1)
			require.NoError(t, err)
			assert.Equal(t, orders.Order{ID: 1, Customer: "Ada", Total: 500, Lines: []orders.Line{pear, plum}}, got)
			_, err = repository.Find(t.Context(), 2)
			require.ErrorIs(t, err, sql.ErrNoRows)

			wrong := orders.Order{ID: 3, Customer: "Eve", Lines: []orders.Line{pear, {Product: strings.Repeat("x", 300)}}}
			if db.dialect != migrations.SQLite { // SQLite does not enforce the length of a VARCHAR
				require.Error(t, repository.Place(successor, wrong))
				_, err = repository.Find(t.Context(), 3)
				require.ErrorIs(t, err, sql.ErrNoRows, "an order and its lines are one transaction")
			}
		})
	}
}
