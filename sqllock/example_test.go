package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// openExample opens a database and creates the lock tables. A real program already has a database, and runs these
// migrations together with its own migrations.
func openExample(ctx context.Context) (*sql.DB, func()) {
	dir, err := os.MkdirTemp("", "rowlock")
	if err != nil {
		panic(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		panic(err)
	}
	if err := migrations.Up(ctx, db, migrations.SQLite); err != nil {
		panic(err)
	}
	return db, func() {
		_ = db.Close()
		_ = os.RemoveAll(dir)
	}
}

// A job runs on one machine at a time. With Postgres, use sqllock.Postgres(db) or sqllock.Pgx(pool) instead of
// sqllock.SQLite(db). With MySQL and MariaDB, use sqllock.MySQL(db).
func Example() {
	ctx := context.Background()
	db, closeDB := openExample(ctx)
	defer closeDB()

	locker, err := rowlock.New(sqllock.SQLite(db))
	if err != nil {
		panic(err)
	}
	defer locker.Close()

	err = locker.Do(ctx, "nightly-report", func(ctx context.Context, lease *rowlock.Lease) error {
		var held bool
		err := db.QueryRowContext(ctx, "SELECT nonce IS NOT NULL FROM rowlock_lease WHERE name = ?", lease.Name()).Scan(&held)
		fmt.Println("the row says held:", held)
		return err
	})
	fmt.Println("error:", err)
	// Output:
	// the row says held: true
	// error: <nil>
}

// A lock lasts until a transaction ends, and excludes leases of the same name.
func ExampleBackend_InTx() {
	ctx := context.Background()
	db, closeDB := openExample(ctx)
	defer closeDB()
	locks := sqllock.SQLite(db)
	locker, err := rowlock.New(locks)
	if err != nil {
		panic(err)
	}
	defer locker.Close()

	lease, err := locker.Acquire(ctx, "invoices")
	if err != nil {
		panic(err)
	}
	defer lease.Release(ctx)

	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		panic(err)
	}
	defer tx.Rollback()
	err = locks.InTx(ctx, tx, "invoices")
	var held *driver.Held
	fmt.Println("held by a lease:", errors.As(err, &held))
	fmt.Println("another name:", locks.InTx(ctx, tx, "orders"))
	// Output:
	// held by a lease: true
	// another name: <nil>
}
