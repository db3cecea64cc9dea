package compat_test

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// The variable before contains the SQL statements of an older version of rowlock. That older version is the last one
// whose tables had no row for each waiter.
//
//go:embed testdata/before_waiters
var before embed.FS

// earlier is a backend that behaves like that older version. It runs the statements in the variable before, in the same
// order as the older version's Go code.
type earlier struct {
	db     *sql.DB
	server string // the folder that contains the statements
	sql    map[string]string
}

func newEarlier(tb testing.TB, db *sql.DB, server string) *earlier {
	tb.Helper()
	e := &earlier{db: db, server: server, sql: map[string]string{}}
	for _, verb := range []string{"acquire", "renew", "release"} {
		text, err := before.ReadFile("testdata/before_waiters/" + server + "/" + verb + ".sql")
		require.NoError(tb, err)
		e.sql[verb] = string(text)
	}
	return e
}

func (e *earlier) Capabilities() driver.Capabilities {
	return driver.Capabilities{Backend: "earlier", Token: driver.LinearizableToken}
}

// hexed encodes s in hexadecimal digits for MySQL and MariaDB, because their statements expect texts in that form.
func (e *earlier) hexed(s string) string {
	if e.server == "mysql" || e.server == "mariadb" {
		return hex.EncodeToString([]byte(s))
	}
	return s
}

func (e *earlier) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	namespace, name, nonce, holder, note := e.hexed(r.Key.Namespace), e.hexed(r.Key.Name), r.Nonce.String(), e.hexed(r.Holder), e.hexed(r.Note)
	ttl, closing, minHold := r.TTL.Microseconds(), (r.TTL + r.HandoverDelay).Microseconds(), r.MinHold.Microseconds()
	verdict, token, ignored := "granted", int64(0), ""
	var since, freeIn int64
	var err error
	switch e.server {
	case "postgres":
		err = e.row(ctx, "acquire", []any{&verdict, &token, &ignored, &ignored, &since, &freeIn}, namespace, name, nonce, holder, note, ttl, minHold, r.HandoverDelay.Microseconds())
	case "sqlite":
		err = e.row(ctx, "acquire", []any{&token}, namespace, name, nonce, holder, note, ttl, minHold, r.HandoverDelay.Microseconds())
	case "mariadb":
		err = e.row(ctx, "acquire", []any{&verdict, &token, &ignored, &ignored, &since, &freeIn},
			namespace, name, nonce, holder, note, ttl, closing, minHold, max(closing, minHold), closing, minHold, nonce)
	case "mysql":
		var done sql.Result
		done, err = e.db.ExecContext(ctx, e.sql["acquire"], nonce, nonce, nonce, holder, note, ttl, closing, minHold,
			namespace, name, nonce, namespace, name, nonce, max(closing, minHold))
		if err == nil {
			token, err = done.LastInsertId()
		}
	}
	switch {
	case errors.Is(err, sql.ErrNoRows) || rowLocked(err) || err == nil && (token == 0 || verdict != "granted"):
		return driver.Grant{}, &driver.Held{Reason: driver.Leased, ExpiresIn: time.Duration(freeIn) * time.Microsecond}
	case err != nil:
		return driver.Grant{}, err
	}
	return driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: driver.Token(token), TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay}, nil
}

func (e *earlier) row(ctx context.Context, verb string, dest []any, args ...any) error {
	return e.db.QueryRowContext(ctx, e.sql[verb], args...).Scan(dest...)
}

// rowLocked reports whether err is MariaDB's error for a row that another transaction has locked.
func rowLocked(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && e.Number == 1205
}

// Renew sends the renewal of each grant separately.
func (e *earlier) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	outcomes := make([]driver.Outcome, len(grants))
	for i, g := range grants {
		var batch bytes.Buffer
		if err := json.NewEncoder(&batch).Encode([]map[string]any{{
			"n": 0, "namespace": e.hexed(g.Key.Namespace), "name": e.hexed(g.Key.Name), "nonce": g.Nonce.String(), "token": g.Token.String(),
			"ttl": g.TTL.Microseconds(), "min_hold": g.MinHold.Microseconds(), "handover_delay": g.HandoverDelay.Microseconds(),
		}}); err != nil {
			return nil, err
		}
		renewed, err := e.changed(ctx, "renew", batch.String())
		switch {
		case err != nil:
			return outcomes, err
		case renewed:
			outcomes[i] = driver.Renewed
		default:
			if outcomes[i], err = e.notRenewed(ctx, g); err != nil {
				return outcomes, err
			}
		}
	}
	return outcomes, nil
}

// notRenewed is called when a renewal changed no row. notRenewed tells whether the lease is lost, or whether another
// transaction had only locked the lease's row.
func (e *earlier) notRenewed(ctx context.Context, g driver.Grant) (driver.Outcome, error) {
	now := map[string]string{"postgres": "clock_timestamp()", "mysql": "UTC_TIMESTAMP(6)", "mariadb": "UTC_TIMESTAMP(6)", "sqlite": "(julianday('now') - 2440587.5) * 86400000000"}
	alive := 0
	err := e.db.QueryRowContext(ctx, fmt.Sprintf("SELECT count(*) FROM rowlock_lease WHERE nonce = '%s' AND token = %d AND expires_at > %s", g.Nonce, g.Token, now[e.server])).Scan(&alive)
	if alive > 0 {
		return driver.Unknown, err
	}
	return driver.Lost, err
}

func (e *earlier) Release(ctx context.Context, g driver.Grant) error {
	namespace, name, nonce, token := e.hexed(g.Key.Namespace), e.hexed(g.Key.Name), g.Nonce.String(), int64(g.Token)
	args := []any{namespace, name, nonce, token, g.MinHold.Microseconds()}
	switch e.server {
	case "mysql":
		args = []any{g.MinHold.Microseconds(), namespace, name, nonce, token, namespace, name, nonce}
	case "mariadb":
		args = []any{g.MinHold.Microseconds(), namespace, name, nonce, token}
	}
	for end := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) { // retries while another transaction has locked the row
		released, err := e.changed(ctx, "release", args...)
		if released || err != nil && !rowLocked(err) {
			return err
		}
		if time.Now().After(end) {
			return driver.ErrNotHeld
		}
	}
}

// changed runs a statement that changes one row, and reports whether it did.
func (e *earlier) changed(ctx context.Context, verb string, args ...any) (bool, error) {
	if e.server == "mysql" || e.server == "mariadb" {
		done, err := e.db.ExecContext(ctx, e.sql[verb], args...)
		if err != nil {
			return false, err
		}
		n, err := done.RowsAffected()
		return n > 0, err
	}
	rows, err := e.db.QueryContext(ctx, e.sql[verb], args...)
	if err != nil {
		return false, err
	}
	defer rows.Close() //nolint:errcheck // the error of rows.Err is checked
	found := false
	for rows.Next() {
		found = true
		if columns, err := rows.Columns(); err == nil && len(columns) == 2 { // on Postgres, the statement also returns rows for leases that it did not renew
			var n int
			var outcome string
			if err := rows.Scan(&n, &outcome); err != nil {
				return false, err
			}
			found = outcome == "renewed"
		}
	}
	return found, rows.Err()
}
