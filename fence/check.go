package fence

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock"
)

var (
	errNoTransaction = errors.New("fence: check: want an open *sql.Tx, or a *sql.Conn with one: without a transaction nothing holds the mark")
	errNotPostgres   = errors.New("fence: the guard is not one for Postgres")
)

// Check proves that the lease in ctx is the one that sealed the resources last, by default its own
// name, and keeps that true until tx ends: no newer lease can seal before. So if tx commits, it
// commits as the newest holder. Call it as the first statement of each transaction, before anything
// is read: what was read before the seal may be out of date. It must not be undone by a rollback to
// a savepoint that was set before it. Several checks in one transaction may deadlock with a seal of
// the same resources; give them all to one call.
//
// tx is a *sql.Tx, or a *sql.Conn on which a transaction was begun by a statement. ctx must come from
// the lease (that of Do, or lease.Context()), else the error is [ErrNoLease]; it bounds the call, as
// the lease's trust does, and not the transaction.
//
// The other errors: [*StaleError], for an [ErrStale], when another lease has sealed, or this one
// has not; [ErrRetry] when the database wants the transaction run again, be it as a serialization
// failure, a deadlock, the end of a wait for a lock, or because tx began to read before the seal;
// what ended the lease, without asking the database; [*SchemaError]. After any error the caller must
// roll back.
//
// On Postgres, Check also bounds how long the transaction may idle between two statements by the
// trust that the lease has left, so that a process that was stopped cannot keep its successor
// waiting: the server then ends the session, and the next statement or the commit fails (SQLSTATE
// 25P03, or a connection that is closed). A shorter idle_in_transaction_session_timeout of the
// caller's own stays. The other databases have no such setting for a transaction alone.
func (g *Guard) Check(ctx context.Context, tx Transaction, resources ...string) error {
	q, begun, err := openTransaction(tx)
	if err != nil {
		return err
	}
	return g.check(ctx, q, begun, nil, resources)
}

// CheckPgx is [Guard.Check] for a transaction of pgx. The guard must be one for Postgres.
func (g *Guard) CheckPgx(ctx context.Context, tx pgx.Tx, resources ...string) error {
	q, err := g.openPgx(tx)
	if err != nil {
		return err
	}
	return g.check(ctx, q, true, nil, resources)
}

// openTransaction tells by its type whether tx is one that was begun.
func openTransaction(tx Transaction) (q querier, begun bool, err error) {
	switch conn := tx.(type) {
	case nil, *sql.DB:
		return nil, false, errNoTransaction
	case *sql.Tx:
		if conn == nil {
			return nil, false, errNoTransaction
		}
		begun = true
	case *sql.Conn:
		if conn == nil {
			return nil, false, errNoTransaction
		}
	}
	return sqlQuerier{tx}, begun, nil
}

func (g *Guard) openPgx(tx pgx.Tx) (querier, error) {
	if _, ok := g.dialect.(*postgres); !ok && g.err == nil {
		return nil, errNotPostgres
	}
	if tx == nil {
		return nil, errNoTransaction
	}
	return pgxQuerier{tx}, nil
}

func (g *Guard) check(ctx context.Context, q querier, begun bool, s *slot, resources []string) error {
	c, err := g.claimOf(ctx, resources)
	if err != nil {
		return err
	}
	return g.prove(ctx, "check", q, begun, c, func(ctx context.Context) error { return g.checked(ctx, q, c, s) })
}

// checked also shows itself to protected tables, and writes the slot if there is one.
func (g *Guard) checked(ctx context.Context, q querier, c claim, s *slot) error {
	err := g.dialect.check(ctx, q, c)
	if err == nil && g.passing {
		err = g.dialect.pass(ctx, q, c)
	}
	if err == nil && s != nil {
		err = g.dialect.note(ctx, q, *s)
	}
	return err
}

// claimOf is what the lease in ctx has to prove.
func (g *Guard) claimOf(ctx context.Context, resources []string) (claim, error) {
	if g.err != nil {
		return claim{}, g.err
	}
	lease, ok := rowlock.FromContext(ctx)
	if !ok {
		return claim{}, ErrNoLease
	}
	c, err := newClaim(g.domain, lease, resources)
	c.lazy = g.lazy
	return c, err
}

// prove runs work within the trust of c's lease. It looks whether there is a transaction unless the
// type of q's handle says so.
func (g *Guard) prove(ctx context.Context, operation string, q querier, begun bool, c claim, work func(context.Context) error) error {
	err := c.lease.Err()
	if err == nil {
		bounded, cancel := c.within(ctx)
		defer cancel()
		if !begun {
			err = g.dialect.begun(bounded, q)
		}
		if err == nil {
			err = work(bounded)
		}
		err = interrupted(bounded, err)
	}
	return c.wrap(ctx, operation, err)
}
