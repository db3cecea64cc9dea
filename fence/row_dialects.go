package fence

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/rowlock/rowlock/internal/sqlerror"
)

var errRowAppeared = errors.New("another transaction changed the row during the check")

func (p *postgres) checkRow(ctx context.Context, q querier, r keyedRow, c claim) error {
	var limit sql.NullString
	return p.raiseRow(ctx, q, r, c, []any{c.trust().Milliseconds()}, &limit)
}

func (s *sqlite) checkRow(ctx context.Context, q querier, r keyedRow, c claim) error {
	return s.whenFree(ctx, q, func() error { return s.raiseRow(ctx, q, r, c, nil) })
}

// raiseRow locks the row, compares its token and raises it in one statement. If the statement raised no row,
// raiseRow reads the row to find out why.
func (m marks) raiseRow(ctx context.Context, q querier, r keyedRow, c claim, args []any, dest ...any) error {
	var token, rows int64
	raised, err := q.row(ctx, r.names.Rewrite(m.sql["row_raise"], `"`), append([]any{r.key, c.token}, args...), append([]any{&token, &rows}, dest...)...)
	if err == nil && !raised {
		_, err = q.row(ctx, r.names.Rewrite(m.sql["row_read"], `"`), []any{r.key}, &token, &rows)
	}
	if err != nil {
		return err
	}
	if err := r.judge(c, rows, token); err != nil {
		return err
	}
	if !raised {
		return retry(errRowAppeared)
	}
	return r.kept(c, token)
}

const (
	// refuseOldSnapshot makes MariaDB 10.11.8 and newer reject a row that was written after the transaction's snapshot.
	// For MySQL and older MariaDB it is only a comment.
	refuseOldSnapshot = "/*M!101108 SET STATEMENT innodb_snapshot_isolation = ON FOR */"
	// mariadbNoVariable is the error of some MariaDB releases from 11.0 to 11.3 that execute refuseOldSnapshot,
	// but do not have the variable.
	mariadbNoVariable = 1193
)

// checkRow compares the token that it reads, and ignores the number of updated rows. By default,
// the server does not count a row that already has the new value.
func (m *mysql) checkRow(ctx context.Context, q querier, r keyedRow, c claim) error {
	var token, rows int64
	lock := r.names.Rewrite(m.sql["row_lock"], "`")
	_, err := q.row(ctx, lock, []any{r.key}, &token, &rows)
	if sqlerror.MySQL(err) == mariadbNoVariable {
		lock = strings.Replace(lock, refuseOldSnapshot, "", 1)
		_, err = q.row(ctx, lock, []any{r.key}, &token, &rows)
	}
	if err != nil {
		return err
	}
	if err := r.judge(c, rows, token); err != nil || token == c.token {
		return err
	}
	if err := q.exec(ctx, r.names.Rewrite(m.sql["row_raise"], "`"), c.token, r.key); err != nil {
		return err
	}
	if _, err := q.row(ctx, lock, []any{r.key}, &token, &rows); err != nil {
		return err
	}
	return r.kept(c, token)
}
