package fence

import (
	"context"
	"fmt"
)

// Protect makes the database itself refuse every INSERT, UPDATE and DELETE on a table, and on
// Postgres every TRUNCATE, unless the transaction has passed a [Guard.Check] by the lease that sealed
// the resource last; of which resources does not matter. So a program that forgot the check, and a
// console, cannot write beside a holder. The triggers lock the mark as the check does, and so refuse
// a stale holder by themselves, at every isolation level. On Postgres they do not give way to a newer lease that waits to seal, as the
// check does: check the resource of each table that you write. What they cannot see, and how an
// administrator passes, is in the documentation of the package, under "Protected tables".
//
// The table is "table" or "schema.table" as the catalog spells it, each of at most 50 letters, digits
// and underscores; on SQLite without a schema, and in the file of the fence table. The resource is one
// that leases of the default namespace seal, unless [InNamespace] says another.
//
// On MySQL, MariaDB and SQLite the guards that check must have the option [Protected].
//
// Protect creates triggers, as their owner would in a migration, for which [Guard.ProtectSQL] has the
// statements. It waits for the transactions that have the table, and ctx bounds that. A table has one
// such protection: protecting it again is an error of the database that says that the trigger exists
// already, and changes nothing. On MySQL and MariaDB, where such statements are in no transaction, a
// failure may leave one or two of the three triggers, which [Guard.Unprotect] removes. A missing
// migration is a [*SchemaError].
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

// Unprotect undoes [Guard.Protect]. For a table that is not protected it does nothing.
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
