package sqllock

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlitefile"
)

// seal raises the mark in the transaction of the grant, which has the file's write lock: no transaction
// that has checked is open.
func (s *sqlite) seal(ctx context.Context, q querier, r driver.Request, a *answer) (err error) {
	a.sealed, err = queryOne(ctx, q, s.sql["seal"],
		[]any{r.Key.Namespace, r.Key.Name, a.token, r.Nonce.String(), r.Seal}, new(int64))
	if sqlerror.SQLite(err)&0xff == sqlitefile.CodeError {
		return nil // the mark's table is missing or outdated, which is for the guard to say
	}
	return err
}

// immediately runs work in a transaction that has the file's write lock from its beginning. A
// connection that may be left inside of it is closed.
func immediately(ctx context.Context, conn *sql.Conn, work func(q querier) error) error {
	q := sqlQuerier{conn}
	if _, err := q.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		if !sqlitefile.Busy(err) {
			discard(conn)
		}
		return err
	}
	err := work(q)
	if err == nil {
		_, err = q.exec(ctx, "COMMIT")
	}
	if err != nil {
		if _, undone := q.exec(context.WithoutCancel(ctx), "ROLLBACK"); undone != nil {
			discard(conn)
		}
	}
	return err
}
