package fence_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// A batch has several steps, and one commit ends the last step and releases the lock. So no process can see a finished
// report whose lock is still held, or a free lock and an unfinished report.
func ExampleGuard_ReleaseOnCommit() {
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

	guard := fence.SQLite(db)
	locker, err := rowlock.New(sqllock.SQLite(db), rowlock.Fenced(guard))
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()
	write := func(line string) func(context.Context, *sql.Tx) error {
		return func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO report VALUES (?)", line)
			return err
		}
	}
	err = locker.Do(ctx, "nightly", func(ctx context.Context, lease *rowlock.Lease) error {
		if err := guard.Tx(ctx, write("the work")); err != nil {
			return err
		}
		err := guard.ReleaseOnCommit(ctx, write("done"))
		fmt.Println(lease.Err())
		return err
	})
	fmt.Println("batch:", err)
	next, err := locker.TryAcquire(ctx, "nightly")
	fmt.Println("free at once:", err == nil && next.Err() == nil)

	// Output:
	// rowlock: not held: released
	// batch: <nil>
	// free at once: true
}
