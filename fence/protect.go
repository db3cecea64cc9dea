package fence

import (
	"context"
	"fmt"
)

// Protect adds triggers to a table, so that the database rejects writes of transactions that were not checked. It
// covers every INSERT, UPDATE and DELETE, and on Postgres every TRUNCATE. A transaction may write after a [Guard.Check]
// by the lease that sealed the resource last. It does not matter which resources the transaction has checked. So
// neither a program that forgot the check nor a console can write while a holder works.
//
// The triggers lock the mark as a check does, and so reject a stale holder at every isolation level. On Postgres, a
// check fails while a newer lease waits to seal, so that it does not delay the seal. The triggers do not fail in that
// situation, so a write without a check of that resource can delay the seal. To avoid the delay, check the resource of
// each table that you write. The documentation of the package lists, under "Protected tables", which writes the
// triggers cannot see, and how an administrator can write.
//
// table is "table" or "schema.table", spelled as in the catalog. Each part has at most 50 letters,
// digits and underscores. On SQLite there is no schema, and the table must be in the file of the fence table.
// The resource is in the default namespace of leases, unless [InNamespace] names another namespace. On MySQL,
// MariaDB and SQLite every guard that checks must have the option [Protected].
//
// Protect creates the triggers itself. [Guard.ProtectSQL] returns the same statements for a migration, which the
// table's owner runs. Protect waits for the transactions that use the table, and ctx limits the wait. A table can be
// protected for one resource only. If it is already protected, Protect changes nothing and returns the database's error
// that the trigger exists. On MySQL and MariaDB these statements are not in a transaction, so after an error one or two
// of the three triggers may exist. [Guard.Unprotect] removes them. If the migration is missing, the error is a
// [*SchemaError].
func (g *Guard) Protect(ctx context.Context, table, resource string, opts ...ProtectOption) error {
	statements, err := g.ProtectSQL(table, resource, opts...)
	if err == nil {
		err = g.define(ctx, statements)
	}
	if err != nil {
		return fmt.Errorf("fence: protect %q: %w", table, err)
	}
	return nil
}

// Unprotect undoes [Guard.Protect]. It does nothing if the table is not protected.
func (g *Guard) Unprotect(ctx context.Context, table string) error {
	statements, err := g.UnprotectSQL(table)
	if err == nil {
		err = g.define(ctx, statements)
	}
	if err != nil {
		return fmt.Errorf("fence: unprotect %q: %w", table, err)
	}
	return nil
}

// define runs statements that create or drop triggers.
func (g *Guard) define(ctx context.Context, statements []string) error {
	work := func(q querier) error {
		if err := g.dialect.ready(ctx, q); err != nil {
			return err
		}
		for _, s := range statements {
			if err := q.exec(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
	return g.repeat(ctx, func() error { return g.dialect.define(ctx, work) })
}
