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
	"github.com/rowlock/rowlock/migrations"
)

// A holder that has lost its lock without noticing cannot overwrite its successor's work.
func Example() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection to :memory: is a database of its own
	if err := migrations.Up(ctx, db, migrations.SQLite); err != nil {
		log.Fatal(err)
	}
	if _, err := db.ExecContext(ctx, "CREATE TABLE report (line TEXT)"); err != nil {
		log.Fatal(err)
	}

	locks := memlock.New()
	guard := fence.SQLite(db)
	write := func(lease *rowlock.Lease, line string) error {
		return guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO report VALUES (?)", line)
			return err
		})
	}
	process := func() *rowlock.Locker {
		locker, err := rowlock.New(locks, rowlock.Fenced(guard))
		if err != nil {
			log.Fatal(err)
		}
		return locker
	}
	acquire := func(locker *rowlock.Locker) *rowlock.Lease {
		lease, err := locker.Acquire(ctx, "nightly")
		if err != nil {
			log.Fatal(err)
		}
		return lease
	}

	one, other := process(), process()
	defer other.Close()
	defer one.Close()
	first := acquire(one)
	fmt.Println("first:", write(first, "from the first"))

	// The first holder's lease expires in the store, and the holder does not notice.
	locks.Expire(driver.Key{Name: "nightly"})
	second := acquire(other)
	fmt.Println("second:", write(second, "from the second"))
	err = write(first, "too late")
	fmt.Println("stale:", errors.Is(err, fence.ErrStale), "still trusting its lease:", first.Err() == nil)

	// Output:
	// first: <nil>
	// second: <nil>
	// stale: true still trusting its lease: true
}
