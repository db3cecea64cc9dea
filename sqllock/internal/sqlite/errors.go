package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlitefile"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// columnsLimit bounds the statement that checks whether a missing column is the cause of an error.
const columnsLimit = time.Second

// columnsKnown is how many columns columns.sql finds in tables that are complete.
const columnsKnown = 24

// classify marks err as the driver contract requires: as permanent, as not applied, or not at all if the effect is
// unknown.
func (b *Backend) classify(ctx context.Context, operation string, key driver.Key, err error) error {
	if sqlbase.Settled(err) {
		return err
	}
	err = sqlbase.Describe(ctx, operation, key, err)
	if driver.IsNotApplied(err) {
		return err
	}
	switch code := sqlerror.SQLite(err); code & 0xff {
	case sqlitefile.CodeBusy, sqlitefile.CodeLocked, sqlitefile.CodeCantopen:
		return driver.NotApplied(err)
	case sqlitefile.CodeReadonly, sqlitefile.CodePerm, sqlitefile.CodeAuth:
		return driver.Permanent(fmt.Errorf("%w: the database file cannot be written", err))
	case sqlitefile.CodeError:
		if b.outdated(ctx) {
			return driver.Permanent(&sqlbase.SchemaError{Table: b.file.table.String(), Err: err})
		}
		return driver.NotApplied(err)
	default:
		return err
	}
}

// outdated reports whether a table or a column is missing. It looks for them because SQLite reports a missing column
// with the unspecific code SQLITE_ERROR.
func (b *Backend) outdated(ctx context.Context) bool {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), columnsLimit)
	defer cancel()
	columns := columnsKnown
	err := b.file.call(bounded, func(q sqlbase.Querier) error {
		_, err := sqlbase.QueryOne(bounded, q, b.file.sql["columns"], []any{b.file.table.Name(), b.file.table.Name() + "_meta", b.file.table.Schema(), b.file.table.Name() + "_waiter"}, &columns)
		return err
	})
	return err == nil && columns < columnsKnown
}

var errStaleSnapshot = errors.New("the file has changed since the transaction began to read (InTx itself reads in the transaction if the pool has no free connection): run the transaction again, and begin it with BEGIN IMMEDIATE")
