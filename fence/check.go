package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock"
)

var (
	errNoTransaction = errors.New("no transaction is open, and without a transaction nothing holds the mark: begin one, and check first in it")
	errNotPostgres   = errors.New("fence: the guard is not one for Postgres")
)

// Check proves that the lease in ctx is the one that sealed the resources last, by default its own
// name, and keeps that true until tx ends: no newer lease can seal before. So if tx commits, it
// commits as the newest holder. Call it as the first statement of each transaction, before anything
// is read: what was read before the seal may be out of date. It must not be undone by a rollback to
// a savepoint that was set before it. Several checks in one transaction may deadlock with a seal of
// the same resources; give them all to one call.
//
// tx is a *sql.Tx, or a *sql.Conn on which a transaction was begun by a statement. Check refuses one that was ended by a statement, such as
// COMMIT, or CREATE TABLE on MySQL and MariaDB. It asks the server for that with one more statement on MySQL and MariaDB, with two more through a driver
// for Postgres that is not pgx's, and with none through pgx. On MySQL and MariaDB it also refuses a branch of an XA transaction, because
// XA PREPARE or a restart gives the mark up there. PREPARE TRANSACTION on Postgres keeps it.
//
// ctx must come from the lease (that of Do, or lease.Context()), else the error is [ErrNoLease]; it bounds the call, as
// the lease's trust does, and not the transaction.
//
// The other errors: [*StaleError], for an [ErrStale], when another lease has sealed, or this one
// has not; [ErrRetry] when the database wants the transaction run again, be it as a serialization
// failure, a deadlock, the end of a wait for a lock, because tx began to read before the seal, or on Postgres because a newer lease waits to seal;
// what ended the lease, without asking the database; [ErrReadOnly]; [*SchemaError]. After any error the caller must
// roll back.
//
// On Postgres, Check also bounds how long the transaction may idle between two statements by the
// trust that the lease has left, so that a process that was stopped cannot keep its successor
// waiting: the server then ends the session, and the next statement or the commit fails (SQLSTATE
// 25P03, or a connection that is closed). A shorter idle_in_transaction_session_timeout of the
// caller's own stays. The other databases have no such setting for a transaction alone.
func (g *Guard) Check(ctx context.Context, tx Transaction, resources ...string) error {
	q, err := g.openTransaction(tx)
	if err != nil {
		return err
	}
	return g.check(ctx, q, false, nil, resources)
}

// CheckPgx is [Guard.Check] for a transaction of pgx. The guard must be one for Postgres.
func (g *Guard) CheckPgx(ctx context.Context, tx pgx.Tx, resources ...string) error {
	q, err := g.openPgx(tx)
	if err != nil {
		return err
	}
	return g.check(ctx, q, false, nil, resources)
}

// openTransaction refuses a tx that cannot be a transaction, such as a *sql.DB.
func (g *Guard) openTransaction(tx Transaction) (querier, error) {
	none := false
	switch conn := tx.(type) {
	case nil, *sql.DB:
		none = true
	case *sql.Tx:
		none = conn == nil
	case *sql.Conn:
		none = conn == nil
	}
	if none {
		return nil, fmt.Errorf("fence: check: %w", errNoTransaction)
	}
	q := sqlQuerier{conn: tx}
	if _, ok := g.dialect.(*postgres); ok && !g.deaf {
		q.witness = &witness{}
	}
	return q, nil
}

func (g *Guard) openPgx(tx pgx.Tx) (querier, error) {
	if _, ok := g.dialect.(*postgres); !ok && g.err == nil {
		return nil, errNotPostgres
	}
	if tx == nil {
		return nil, fmt.Errorf("fence: check: %w", errNoTransaction)
	}
	return pgxQuerier{conn: tx, witness: &witness{}}, nil
}

// check is begun where the guard itself has just begun the transaction.
func (g *Guard) check(ctx context.Context, q querier, begun bool, s *slot, resources []string) error {
	c, err := g.claimOf(ctx, resources)
	if err != nil {
		return err
	}
	return g.prove(ctx, "check", c, func(ctx context.Context) error { return g.checked(ctx, q, begun, c, s) })
}

// checked compares the mark, and looks whether a transaction is open unless begun says so. It also lets the transaction write to protected
// tables, and writes the slot if there is one.
func (g *Guard) checked(ctx context.Context, q querier, begun bool, c claim, s *slot) error {
	err := g.dialect.check(ctx, q, c)
	if err == nil && !begun {
		err = g.dialect.begun(ctx, q)
	}
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

// prove runs work within the trust of c's lease.
func (g *Guard) prove(ctx context.Context, operation string, c claim, work func(context.Context) error) error {
	err := c.lease.Err()
	if err == nil {
		bounded, cancel := c.within(ctx)
		defer cancel()
		err = interrupted(bounded, work(bounded))
		if takesNoWrites(err) {
			err = fmt.Errorf("%w: %w", ErrReadOnly, err)
		}
	}
	return c.wrap(ctx, operation, err)
}
