package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/memlock"
)

// The rows of a table store the token of their newest writer. CheckRow then needs no fence table and no seal.
func ExampleGuard_CheckRow() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection to :memory: is a database of its own
	if _, err := db.ExecContext(ctx, "CREATE TABLE orders (id BIGINT PRIMARY KEY, total BIGINT NOT NULL, lock_token BIGINT NOT NULL DEFAULT 0)"); err != nil {
		log.Fatal(err)
	}

	guard := fence.SQLite(db)
	insert := func(lease *rowlock.Lease, id int64) error {
		_, err := db.ExecContext(lease.Context(), "INSERT INTO orders (id, total, lock_token) VALUES (?, 0, ?)", id, int64(lease.Token()))
		return err
	}
	add := func(ctx context.Context, id, amount int64) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := guard.CheckRow(ctx, tx, fence.Row{Table: "orders", Key: "id", Token: "lock_token"}, id); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE orders SET total = total + ? WHERE id = ?", amount, id); err != nil {
			return err
		}
		return tx.Commit()
	}

	locks := memlock.New()
	process := func() *rowlock.Locker {
		locker, err := rowlock.New(locks)
		if err != nil {
			log.Fatal(err)
		}
		return locker
	}
	acquire := func(locker *rowlock.Locker) *rowlock.Lease {
		lease, err := locker.Acquire(ctx, "order-7")
		if err != nil {
			log.Fatal(err)
		}
		return lease
	}
	one, other := process(), process()
	defer other.Close()
	defer one.Close()
	first := acquire(one)
	fmt.Println("inserted:", insert(first, 7))
	locks.Expire(driver.Key{Name: "order-7"}) // the first holder does not notice that its lease has ended
	second := acquire(other)
	fmt.Println("second:", add(second.Context(), 7, 100))
	fmt.Println("stale:", errors.Is(add(first.Context(), 7, 1), fence.ErrStale))
	fmt.Println("no such row:", errors.Is(add(second.Context(), 8, 1), fence.ErrNoRow))
	// Output:
	// inserted: <nil>
	// second: <nil>
	// stale: true
	// no such row: true
}
