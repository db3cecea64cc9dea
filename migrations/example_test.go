package migrations_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock/migrations"
)

// A program or a deployment job with the privilege to change the schema creates the tables. Up does nothing if the
// tables are up to date.
func ExampleUp() {
	folder, err := os.MkdirTemp("", "rowlock")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "app.db"))
	if err != nil {
		panic(err)
	}
	defer db.Close()
	ctx := context.Background()
	if err := migrations.Up(ctx, db, migrations.SQLite); err != nil {
		panic(err)
	}
	list, err := migrations.Status(ctx, db, migrations.SQLite)
	if err != nil {
		panic(err)
	}
	for _, m := range list {
		if !m.Applied {
			fmt.Println("missing:", m.Name)
		}
	}
	fmt.Println("first:", list[0].Name)
	// Output: first: 00001_lease.sql
}
