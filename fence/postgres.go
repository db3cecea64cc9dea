package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlserver"
	"github.com/rowlock/rowlock/internal/sqltable"
)

const (
	// idledTooLong is the SQLSTATE of a session that idle_in_transaction_session_timeout has ended.
	idledTooLong = "25P03"
	// cancelled is the SQLSTATE of a statement that the caller's statement_timeout or another session has cancelled.
	cancelled = "57014"
)

// errOvertaking is the error of a check while a newer lease waits to seal. The check does not wait,
// because the newer lease may wait for another transaction of the same caller.
var errOvertaking = errors.New("a newer lease waits to seal until earlier transactions end")

var errIdled = errors.New("fence: the server ended the transaction, because it idled for longer than its lease was trusted at the check")

// postgres is the dialect of PostgreSQL 12 and newer.
type postgres struct {
	marks

	transact transactions
	table    sqltable.Table
	asked    atomic.Bool // the server has reported that it is PostgreSQL
}

func newPostgres(transact transactions, t sqltable.Table) *postgres {
	plain := func(s string) string { return s }
	return &postgres{marks: marks{sql: load(t, "postgres", `"`), encode: plain}, transact: transact, table: t}
}

func (p *postgres) seal(ctx context.Context, c claim) error {
	return p.own(ctx, func(q querier) error { return p.raise(ctx, q, c) })
}

func (p *postgres) own(ctx context.Context, work func(querier) error) error {
	err := p.transact(ctx, func(q querier) error {
		if err := p.supported(ctx, q); err != nil {
			return err
		}
		var ignored, also sql.NullString
		if _, err := q.row(ctx, p.sql["bound"], []any{lockTimeout(ctx)}, &ignored, &also); err != nil {
			return err
		}
		return work(q)
	})
	switch sqlerror.State(err) {
	case idledTooLong, // the server ended the session of this process, which was suspended for a while; nothing was committed
		cancelled: // the caller's statement_timeout has ended the statement, but only ctx may end the wait
		return retry(err)
	}
	return p.classify(err)
}

// supported returns an error if the server only imitates PostgreSQL. After the first success it sends no further query.
// Only the method own calls supported, and checks do not call own. That is enough, because Seal and Claim call own, and
// a check succeeds only after a seal or a claim. With the option Lazy a check needs neither.
func (p *postgres) supported(ctx context.Context, q querier) error {
	if p.asked.Load() {
		return nil
	}
	var version string
	_, err := q.row(ctx, p.sql["version"], nil, &version)
	if err == nil {
		err = sqlserver.Supported(version)
	}
	p.asked.Store(err == nil)
	return err
}

func (p *postgres) define(ctx context.Context, work func(querier) error) error {
	return p.transact(ctx, work)
}

// look calls own, because the plain reads of the function work do not wait for other transactions.
func (p *postgres) look(ctx context.Context, work func(querier) error) error { return p.own(ctx, work) }

func (p *postgres) check(ctx context.Context, q querier, c claim) error {
	for _, r := range c.resources {
		raised, err := p.raiseLazily(ctx, q, c, r)
		if err != nil {
			return p.classify(err)
		}
		var now mark
		var limit, nonces string
		locked, err := q.row(ctx, p.sql["check"], append(p.key(c, r), c.trust().Milliseconds(), c.nonce, flag(raised)), &now.token, &now.nonce, &limit, &nonces)
		if err == nil && !locked {
			now, err = p.read(ctx, q, c, r)
			if err == nil && now.isOf(c) {
				err = errOvertaking
			}
		}
		if err != nil {
			return p.classify(err)
		}
		if !now.isOf(c) {
			return c.refuseCheck(r, now)
		}
	}
	return nil
}

// lockTimeout returns nine tenths of the time until ctx's deadline, in milliseconds. So the server ends the wait before
// ctx ends, and the connection stays usable.
func lockTimeout(ctx context.Context) int64 {
	d := left(ctx)
	return max((d - d/10).Milliseconds(), 1)
}

// begun sets and releases a savepoint, which fails outside a transaction. It sends nothing if pgx has already reported
// that a transaction is open.
func (p *postgres) begun(ctx context.Context, q querier) error {
	if w, ok := q.(interface{ witnessed() bool }); ok && w.witnessed() {
		return nil
	}
	err := q.exec(ctx, p.sql["savepoint"])
	if err == nil {
		err = q.exec(ctx, p.sql["release"])
	}
	if sqlerror.State(err) == "25P01" { // no_active_sql_transaction
		return errNoTransaction
	}
	return err
}

func (p *postgres) note(ctx context.Context, q querier, s slot) error {
	return p.classify(q.exec(ctx, p.sql["note"], s.id, s.operation))
}

func (p *postgres) outcome(ctx context.Context, id string) (operation int64, err error) {
	err = p.transact(ctx, func(q querier) error {
		var ignored, also sql.NullString
		if _, err := q.row(ctx, p.sql["bound"], []any{lockTimeout(ctx)}, &ignored, &also); err != nil {
			return err
		}
		_, err := q.row(ctx, p.sql["outcome"], []any{id}, &operation)
		return err
	})
	return operation, err
}

func (p *postgres) pruneOutcomes(ctx context.Context, unused time.Duration) (forgotten int, err error) {
	err = p.transact(ctx, func(q querier) error {
		_, err := q.row(ctx, p.sql["prune_outcomes"], []any{unused.Microseconds()}, &forgotten)
		return err
	})
	return forgotten, p.classify(err)
}

// refused also recognises pgx's error for a transaction in which an earlier statement failed. SQLSTATE class 57P means
// that the server has ended the connection (a shutdown, an operator, idle_session_timeout). For such an error the
// function returns false, as for a broken connection.
func (p *postgres) refused(err error) bool {
	state := sqlerror.State(err)
	return state != "" && !strings.HasPrefix(state, "57P") || errors.Is(err, pgx.ErrTxCommitRollback)
}

func (p *postgres) explain(err error) error {
	if sqlerror.State(err) == idledTooLong {
		return fmt.Errorf("%w: %w", errIdled, err)
	}
	return err
}

// again recognises a serialization failure, a deadlock and an expired lock_timeout.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
func (p *postgres) again(err error) bool {
	switch sqlerror.State(err) {
	case "40001", "40P01", "55P03":
		return true
	default:
		return false
	}
}

func (p *postgres) classify(err error) error {
	switch state := sqlerror.State(err); {
	case p.again(err), errors.Is(err, errOvertaking):
		return retry(err)
	case state == "42P01" || state == "42703" || state == "42883" || state == "3F000": // undefined table, column, function, schema
		return &SchemaError{Table: p.table.String(), Err: err}
	case state == "42501":
		return unprivileged(err)
	default:
		return err
	}
}
