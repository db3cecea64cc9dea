package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// errReplaced is wrapped by the error of a file that was replaced.
var errReplaced = errors.New("was replaced by another file while it was open: its locks are not seen by programs that open it now; restart this program, and stop all of them before the file is replaced")

// openFile is the database file as this backend has first seen it. SQLite keeps using the file that it has opened, whatever its path
// leads to later.
type openFile struct {
	path string
	info os.FileInfo // nil for a database in memory
}

// file returns the database file. The first call waits for another writer within the limit: a new connection has to read the schema.
func (s *Backend) file(ctx context.Context, limit time.Duration) (*openFile, error) {
	if seen := s.opened.Load(); seen != nil {
		return seen, nil
	}
	seen := &openFile{}
	err := s.within(ctx, limit, func(conn *sql.Conn) error {
		_, err := sqlbase.QueryOne(ctx, sqlbase.On(conn), s.sql["file"], []any{s.table.Schema()}, &seen.path)
		return err
	})
	if err == nil && seen.path != "" {
		if seen.info, err = os.Stat(seen.path); err != nil {
			err = driver.NotApplied(err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("find the database file: %w", err)
	}
	s.opened.CompareAndSwap(nil, seen)
	return seen, nil
}

// same returns an error that wraps errReplaced if the path of the database leads to another file than at first, and another error if it
// leads to none.
func (s *Backend) same(ctx context.Context, limit time.Duration) error {
	first, err := s.file(ctx, limit)
	if err != nil || first.info == nil {
		return err
	}
	now, err := os.Stat(first.path)
	switch {
	case err != nil:
		return driver.NotApplied(err) // it may be back in a moment
	case !os.SameFile(first.info, now):
		return driver.Permanent(fmt.Errorf("the database file %s %w", first.path, errReplaced))
	}
	return nil
}
