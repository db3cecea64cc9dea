package sqlite

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlitefile"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// seal raises the mark in the transaction of the grant, which has the file's write lock: no transaction
// that has checked is open.
func (s *Backend) seal(ctx context.Context, q sqlbase.Querier, r driver.Request, a *sqlbase.Answer) (err error) {
	a.Sealed, err = sqlbase.QueryOne(ctx, q, s.sql["seal"],
		[]any{r.Key.Namespace, r.Key.Name, a.Token, r.Nonce.String(), r.Seal}, new(int64))
	if sqlerror.SQLite(err)&0xff == sqlitefile.CodeError {
		return nil // the mark's table is missing or outdated, which is for the guard to say
	}
	return err
}

// immediately runs work in a transaction that has the file's write lock from its beginning. A
// connection that may be left inside of it is closed.
func immediately(ctx context.Context, conn *sql.Conn, work func(q sqlbase.Querier) error) error {
	q := sqlbase.On(conn)
	if _, err := q.Exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		if !sqlitefile.Busy(err) {
			sqlbase.Discard(conn)
		}
		return err
	}
	err := work(q)
	if err == nil {
		_, err = q.Exec(ctx, "COMMIT")
	}
	if err != nil {
		if _, undone := q.Exec(context.WithoutCancel(ctx), "ROLLBACK"); undone != nil {
			sqlbase.Discard(conn)
		}
	}
	return err
}
