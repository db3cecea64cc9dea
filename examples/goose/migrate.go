// Package goose runs the migrations of an application once, however many of its processes start at the same time.
package goose

import (
	"context"
	"database/sql"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/migrations"
)

// Up applies what is pending in that folder, and returns how much it was. The others wait for the one that migrates, and find the
// work done; whoever looks at the locks sees who migrates.
//
// Where the server has locks of sessions and is reached directly, goose.WithSessionLocker(migrations.SessionLocker(dialect, "shop"))
// does the same without a table.
func Up(ctx context.Context, dialect goose.Dialect, db *sql.DB, folder fs.FS, locker *rowlock.Locker) (int, error) {
	turns := migrations.Locker(locker, "migrations of the shop", rowlock.Note("goose up"))
	provider, err := goose.NewProvider(dialect, db, folder, goose.WithLocker(turns))
	if err != nil {
		return 0, err
	}
	applied, err := provider.Up(ctx)
	return len(applied), err
}
