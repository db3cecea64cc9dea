package fence

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/sqltable"
)

// Row names a table whose rows keep the token of their newest writer in a column of their own, such
// as orders.lock_token bigint NOT NULL DEFAULT 0. Each name is a plain identifier of letters, digits
// and underscores, in the case in which the database keeps it; it is quoted.
type Row struct {
	Table string // "table" or "schema.table"
	Key   string // a column that has a unique index; where the key has several columns, use Check with a resource
	Token string // a column of type bigint
}

var errNoToken = errors.New("fence: the lease has no token to compare: its backend mints none; use Check")

// CheckRow refuses a lease that is older than the last one that checked the row whose key column is
// key, and keeps newer ones out of that row until tx ends: it locks the row, compares, and raises the
// row's token to the lease's. So the caller's own UPDATE of the row needs no further condition, and
// no counting of the rows it changed. It needs no fence table and no [Guard.Seal], and costs one
// round trip (on MySQL and MariaDB two, and four at a lease's first check of a row).
//
// It covers the row, and what is read and written with it behind a CheckRow in each transaction, such
// as an order's lines. What was read before it is not covered: make it the first statement of the
// transaction, because at REPEATABLE READ an earlier read fixes what the later ones see. With several rows, check all of them before the
// first read, or use [Guard.Check]. A CheckRow behind a read is an ErrRetry on Postgres where it would miss what an older holder has committed
// with the row. On MariaDB (10.11.8 or newer) it is one if that holder has written the row itself, and on MySQL it is none. An older
// holder is refused from a newer one's first CheckRow of this row on, not from its acquiring; of
// other rows nothing is said. A lease with the row's own token passes: the tokens in the column must
// come from the history of one lock. A NULL is older than all. A new row is inserted with
// lease.Token() in the column.
//
// On Postgres and SQLite it writes the row each time, and the table's triggers run: a row lock alone
// would not let the database refuse a successor's older snapshot. Check several rows in one
// transaction in the same order everywhere: a deadlock is an ErrRetry.
//
// tx, ctx and the bound on an idle transaction are as with [Guard.Check], and so are [ErrNoLease],
// [ErrRetry] and what ended the lease. The other errors: [*StaleError], for an [ErrStale];
// [*NoRowError], for an [ErrNoRow], when no row has the key; what the database says about a table or
// column that does not exist; a key that is not unique; a lease without a token. After any error the
// caller must roll back.
func (g *Guard) CheckRow(ctx context.Context, tx Transaction, row Row, key any) error {
	q, err := g.openTransaction(tx)
	if err != nil {
		return err
	}
	return g.checkRow(ctx, q, row, key)
}

// CheckRowPgx is [Guard.CheckRow] for a transaction of pgx. The guard must be one for Postgres.
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

// keyedRow is one row.
type keyedRow struct {
	Row

	names sqltable.Row
	key   any
}

// String is how the row is called in errors.
func (r keyedRow) String() string { return fmt.Sprintf("%s %s=%s", r.Table, r.Row.Key, keyText(r.key)) }

// judge compares what the database has of the row with the claim: how many rows have the key, and
// the newest token of them.
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

// kept looks whether the column could take the token, which one that is too narrow may not.
func (r keyedRow) kept(c claim, token int64) error {
	if token != c.token {
		return fmt.Errorf("fence: %s.%s became %d where the token %d was written: want a column of type bigint", r.Table, r.Token, token, c.token)
	}
	return nil
}
