package orders_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/examples/orders"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// This example keeps the locks, the fence and the orders in one SQLite file. Use sqllock.Postgres(db) and
// fence.Postgres(db) with Postgres, and sqllock.MySQL(db) and fence.MySQL(db) with MySQL and MariaDB.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "orders")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "shop.db")+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := migrate(ctx, db, migrations.SQLite); err != nil {
		log.Fatal(err)
	}

	guard := fence.SQLite(db)
	repository := orders.NewOrderRepository(db, guard, questionMarks)
	locker, err := rowlock.New(sqllock.SQLite(db), rowlock.Fenced(guard))
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()

	err = locker.Do(ctx, "order-1", func(ctx context.Context, _ *rowlock.Lease) error {
		if err := repository.Place(ctx, orders.Order{ID: 1, Customer: "Ada"}); err != nil {
			return err
		}
		return repository.AddLine(ctx, 1, orders.Line{Product: "pear", Quantity: 2, Price: 150})
	})
	fmt.Println("under the lock:", err)

	err = repository.AddLine(ctx, 1, orders.Line{Product: "plum", Quantity: 1, Price: 20})
	fmt.Println("without:", errors.Is(err, fence.ErrNoLease))

	order, err := repository.Find(ctx, 1)
	fmt.Println(order.Customer, order.Total, len(order.Lines), err)
	// Output:
	// under the lock: <nil>
	// without: true
	// Ada 300 1 <nil>
}
