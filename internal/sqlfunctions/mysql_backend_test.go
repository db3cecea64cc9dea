package sqlfunctions_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
)

// mysqlBackend is a driver.Backend that calls the procedures of the migrations for MySQL and MariaDB, as a program
// without rowlock would. Its pool needs the driver's options multiStatements and interpolateParams.
type mysqlBackend struct{ db *sql.DB }

var _ driver.Backend = (*mysqlBackend)(nil)

var reasons = map[string]driver.Reason{
	"leased": driver.Leased, "min hold": driver.MinHold, "handover": driver.Handover, "quarantine": driver.Quarantine,
	"contended": driver.Contended, "reserved": driver.Reserved, "paused": driver.Paused,
}

func (*mysqlBackend) Capabilities() driver.Capabilities {
	return driver.Capabilities{Backend: "sqllock/mysql", Token: driver.LinearizableToken}
}

// rowQuerier is a *sql.DB, *sql.Conn or *sql.Tx.
type rowQuerier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// row sends some statements in one round trip. The last one returns one row, which row scans.
func row(ctx context.Context, q rowQuerier, statements string, args []any, dest ...any) error {
	rows, err := q.QueryContext(ctx, statements, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		if !rows.NextResultSet() {
			if err := rows.Err(); err != nil {
				return err
			}
			return sql.ErrNoRows
		}
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	return rows.Err()
}

// mysqlRefused marks an error of the server that says that the statement had no effect.
func mysqlRefused(err error) error {
	if sqlerror.MySQL(err) != 0 {
		return driver.NotApplied(err)
	}
	return err
}

func (b *mysqlBackend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	var verdict string
	var token, freeIn, since int64
	held := &driver.Held{}
	err := row(ctx, b.db, `SET @nonce = ?;
		CALL rowlock_lease_try_acquire(?, ?, ?, ?, ?, NULL, @nonce, @verdict, @token, @held_by, @free_in, @ahead);
		SELECT @verdict, @token, COALESCE(@held_by, ''), CAST(COALESCE(@free_in, 0) * 1000000 AS SIGNED),
		       COALESCE((SELECT l.note FROM rowlock_lease_locks AS l WHERE CAST(l.namespace AS BINARY) = ? AND CAST(l.name AS BINARY) = ?), ''),
		       COALESCE((SELECT TIMESTAMPDIFF(MICROSECOND, l.since, UTC_TIMESTAMP(6)) FROM rowlock_lease_locks AS l
		                  WHERE CAST(l.namespace AS BINARY) = ? AND CAST(l.name AS BINARY) = ?), 0)`,
		[]any{
			r.Nonce.String(), r.Key.Name, r.TTL.Seconds(), r.Holder, r.Note, r.Key.Namespace,
			r.Key.Namespace, r.Key.Name, r.Key.Namespace, r.Key.Name,
		},
		&verdict, &token, &held.Holder, &freeIn, &held.Note, &since)
	if err != nil {
		return driver.Grant{}, mysqlRefused(err)
	}
	if verdict != "granted" {
		held.Reason, held.Token, held.ExpiresIn = reasons[verdict], driver.Token(token), time.Duration(freeIn)*time.Microsecond
		held.Since = time.Duration(since) * time.Microsecond
		return driver.Grant{}, held
	}
	return driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: driver.Token(token), TTL: r.TTL}, nil
}

// Renew sends one round trip for all grants. If another session has locked the row of one of them, Renew sends one
// round trip for each grant.
func (b *mysqlBackend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	outcomes, err := b.renew(ctx, grants)
	if sqlerror.MySQL(err) != 50455 {
		return outcomes, err
	}
	outcomes = make([]driver.Outcome, len(grants))
	for i := range grants {
		one, err := b.renew(ctx, grants[i:i+1])
		if err == nil {
			outcomes[i] = one[0]
		}
	}
	return outcomes, nil
}

func (b *mysqlBackend) renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	var calls strings.Builder
	var results []string
	var args, dest []any
	renewed := make([]bool, len(grants))
	for i, g := range grants {
		fmt.Fprintf(&calls, "CALL rowlock_lease_renew(?, ?, ?, ?, ?, @renewed%d);", i)
		args = append(args, g.Key.Name, g.Nonce.String(), int64(g.Token), g.TTL.Seconds(), g.Key.Namespace)
		results, dest = append(results, fmt.Sprintf("@renewed%d", i)), append(dest, &renewed[i])
	}
	if err := row(ctx, b.db, calls.String()+"SELECT "+strings.Join(results, ", "), args, dest...); err != nil {
		return nil, err
	}
	outcomes := make([]driver.Outcome, len(grants))
	for i := range outcomes {
		outcomes[i] = driver.Lost
		if renewed[i] {
			outcomes[i] = driver.Renewed
		}
	}
	return outcomes, nil
}

func (b *mysqlBackend) Release(ctx context.Context, g driver.Grant) error {
	var released bool
	err := row(ctx, b.db, "CALL rowlock_lease_release(?, ?, ?, ?, @released); SELECT @released",
		[]any{g.Key.Name, g.Nonce.String(), int64(g.Token), g.Key.Namespace}, &released)
	if err == nil && !released {
		return driver.ErrNotHeld
	}
	return err
}
