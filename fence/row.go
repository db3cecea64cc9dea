package fence

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/sqltable"
)

// Row names a table whose rows store the token of their newest writer in a column, such as orders.lock_token bigint NOT
// NULL DEFAULT 0. Each name is a plain identifier of letters, digits and underscores, in the case in which the database
// stores it. The statements quote each name.
type Row struct {
	Table string // "table" or "schema.table"
	Key   string // a column that has a unique index; for a key of several columns, use Check with a resource
	Token string // a column of type bigint
}

var errNoToken = errors.New("fence: the lease has no token to compare, because its backend grants none: use Check")

// CheckRow checks the row whose key column equals key. It rejects the lease if a newer lease has checked the row
// before. It locks the row, compares the tokens, and raises the row's token to that of the lease. Until tx ends,
// no newer lease can check that row. So the caller's own UPDATE needs no condition on the token,
// and the caller need not count the changed rows. CheckRow needs no fence table and no [Guard.Seal].
// CheckRow costs one round trip. On MySQL and MariaDB it costs two round trips, and four at a lease's first check of a
// row.
//
// CheckRow protects the row. It also protects other data, such as the lines of an order, if every transaction checks
// this row before it reads or writes that data. Make CheckRow the first statement of the transaction. Values that were
// read earlier are not protected, and at REPEATABLE READ an earlier read fixes the snapshot for later reads. To use
// several rows, check all of them before the first read, or use [Guard.Check]. If a read comes first, the databases
// differ:
//
//   - On Postgres, CheckRow returns an ErrRetry if the snapshot of tx is older than the commit of a transaction in
//     which an older holder checked the row.
//   - On MariaDB (10.11.8 or newer), CheckRow returns an ErrRetry only if the older holder has written the row itself.
//   - On MySQL, CheckRow does not detect that the snapshot is older.
//
// CheckRow rejects an older holder only after a newer holder has called CheckRow for the same row.
// It is not enough that the newer holder has acquired the lock, or has checked another row. CheckRow accepts a lease
// whose token equals the row's token, so the tokens in the column must come from one lock only.
// NULL is older than every token. Insert new rows with lease.Token() in the column.
//
// On Postgres and SQLite, CheckRow writes the row each time, and the table's triggers run. If CheckRow only locked the
// row, the database would not reject a successor's transaction that has an older snapshot. If transactions check
// several rows, let all of them use the same order. After a deadlock the error is an ErrRetry.
//
// tx, ctx and the limit on an idle transaction are as for [Guard.Check]. [ErrNoLease], [ErrRetry] and the error that
// ended the lease mean the same as for Check. The other errors are:
//
//   - [*StaleError], which is an [ErrStale]: a newer lease has checked the row.
//   - [*NoRowError], which is an [ErrNoRow]: no row has the key.
//   - The database's error about a table or column that does not exist.
//   - An error if several rows have the key, and an error if the lease has no token.
//
// After any error the caller must roll back.
func (g *Guard) CheckRow(ctx context.Context, tx Transaction, row Row, key any) error {
	q, err := g.openTransaction(tx)
	if err != nil {
		return err
	}
	return g.checkRow(ctx, q, row, key)
}

// CheckRowPgx is [Guard.CheckRow] for a transaction of pgx. The guard must come from [Pgx] or [Postgres].
func (g *Guard) CheckRowPgx(ctx context.Context, tx pgx.Tx, row Row, key any) error {
	q, err := g.openPgx(tx)
	if err != nil {
		return err
	}
	return g.checkRow(ctx, q, row, key)
}

func (g *Guard) checkRow(ctx context.Context, q querier, row Row, key any) error {
	names, err := sqltable.ParseRow(row.Table, row.Key, row.Token)
	if err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	c, err := g.claimOf(ctx, nil)
	if err != nil {
		return err
	}
	r := keyedRow{names: names, Row: row, key: key}
	c.resources = []string{r.String()}
	return g.prove(ctx, "check", c, func(ctx context.Context) error {
		if c.token <= 0 {
			return errNoToken
		}
		err := g.dialect.checkRow(ctx, q, r, c)
		if err == nil {
			err = g.dialect.begun(ctx, q)
		}
		if g.dialect.again(err) && !errors.Is(err, ErrRetry) {
			err = retry(err)
		}
		return err
	})
}

// keyedRow identifies one row of a table by its key.
type keyedRow struct {
	Row

	names sqltable.Row
	key   any
}

// String names the row for an error text.
func (r keyedRow) String() string { return fmt.Sprintf("%s %s=%s", r.Table, r.Row.Key, keyText(r.key)) }

// judge returns an error unless exactly one row has the key, and its token is not larger than the claim's. The
// parameter token is the largest token of the rows with the key.
func (r keyedRow) judge(c claim, rows, token int64) error {
	switch {
	case rows == 0:
		return &NoRowError{Table: r.Table, Column: r.Row.Key, Key: r.key}
	case rows > 1:
		return fmt.Errorf("fence: %d rows of %s have %s = %s: want a column with a unique index", rows, r.Table, r.Row.Key, keyText(r.key))
	case token > c.token:
		return c.refuse(r.String(), mark{token: token})
	default:
		return nil
	}
}

// kept verifies that the column has stored the token. A column that is too narrow may have changed it.
func (r keyedRow) kept(c claim, token int64) error {
	if token != c.token {
		return fmt.Errorf("fence: %s.%s has stored %d instead of the token %d: want a column of type bigint", r.Table, r.Token, token, c.token)
	}
	return nil
}
