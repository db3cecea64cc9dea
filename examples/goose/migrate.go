// Package goose runs the migrations of an application once, even if many of its processes start at the same time.
package goose

import (
	"context"
	"database/sql"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/migrations"
)

// Up applies the pending migrations of a folder, and returns how many it has applied. Other processes wait,
// and then find nothing to do. The holder of the lock, which rowlock ls shows, is the process that migrates.
//
// If the server has session locks and there is no pooler in between, you need no lock table: use
// goose.WithSessionLocker(migrations.SessionLocker(dialect, "shop")).
func Up(ctx context.Context, dialect goose.Dialect, db *sql.DB, folder fs.FS, locker *rowlock.Locker) (int, error) {
	turns := migrations.Locker(locker, "migrations of the shop", rowlock.Note("goose up"))
	provider, err := goose.NewProvider(dialect, db, folder, goose.WithLocker(turns))
	if err != nil {
		return 0, err
	}
	applied, err := provider.Up(ctx)
	return len(applied), err
}
