package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock"
)

var (
	errNoTransaction = errors.New("no transaction is open, so nothing would keep the lock on the mark: begin a transaction, and call Check as its first statement")
	errNotPostgres   = errors.New("fence: this method needs a guard for Postgres, made by fence.Pgx or fence.Postgres")
)

// Check compares the marks of the resources with the lease in ctx, and locks the marks until tx ends. Without
// resources, the resource is the name of the lock. Check returns nil if this lease was the last to seal all of them.
// Until tx ends, no newer lease can seal these resources. So if tx commits, its holder was the newest holder at the
// time of the commit.
//
// Call Check as the first statement of each transaction, before any read: a value that was read before the seal may be
// out of date. Do not roll back to a savepoint that was set before Check, because that undoes the check.
// Several calls of Check in one transaction may deadlock with a seal of the same resources. Pass all resources to one
// call instead.
//
// tx is a *sql.Tx, or a *sql.Conn on which a statement has begun a transaction. Check rejects a tx whose transaction
// has been ended by a statement, such as COMMIT, or CREATE TABLE on MySQL and MariaDB. To detect that, Check sends one
// more statement on MySQL and MariaDB. On Postgres, it sends two more statements through a driver other than pgx, and
// none through pgx. On MySQL and MariaDB, Check also rejects a branch of an XA transaction, because XA PREPARE or a
// restart releases the lock on the mark. PREPARE TRANSACTION on Postgres keeps that lock.
//
// ctx must come from the lease: use the ctx that Do passes, or lease.Context(). Otherwise the error is [ErrNoLease]. If
// ctx carries several leases ([rowlock.Locker.AcquireAll]), Check compares each resource with the lease whose lock has
// the same name. If no lock has the resource's name, Check compares the resource with the first lease. Without
// resources, it checks the names of all locks. ctx and the lease's trust limit how long this call takes. They do not
// limit the transaction.
//
// After any error the caller must roll back. The other errors are:
//
//   - [*StaleError], for which errors.Is reports [ErrStale]: another lease has sealed after this lease, or this lease
//     has never sealed.
//   - [ErrRetry]: the database wants the transaction to run again. The reasons are a serialization failure, a deadlock,
//     a lock wait that timed out, or a read in tx before the seal. On Postgres, a newer lease that waits to seal is
//     also a reason.
//   - The error that ended the lease, if the lease has ended. Check then sends nothing to the database.
//   - [ErrReadOnly] and [*SchemaError].
//
// On Postgres, Check also limits how long the transaction may idle between two statements, so that a suspended process
// cannot block its successor. The limit is the time for which the lease is still trusted. After that time, the server
// ends the session, and the next statement or the commit fails (SQLSTATE 25P03, or a closed connection). A shorter
// idle_in_transaction_session_timeout of the caller stays in force. The other databases have no such setting for a
// single transaction.
func (g *Guard) Check(ctx context.Context, tx Transaction, resources ...string) error {
	q, err := g.openTransaction(tx)
	if err != nil {
		return err
	}
	return g.check(ctx, q, false, nil, resources)
}

// CheckPgx is [Guard.Check] for a transaction of pgx. The guard must come from [Pgx] or [Postgres].
func (g *Guard) CheckPgx(ctx context.Context, tx pgx.Tx, resources ...string) error {
	q, err := g.openPgx(tx)
	if err != nil {
		return err
	}
	return g.check(ctx, q, false, nil, resources)
}

// openTransaction returns a querier on tx, or an error if tx cannot be a transaction, such as a *sql.DB.
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

// check compares the marks of each claim with the claim's lease. If the parameter begun is true, the guard itself has
// just begun the transaction, and check does not verify that it is open.
func (g *Guard) check(ctx context.Context, q querier, begun bool, s *slot, resources []string) error {
	claims, err := g.claimsOf(ctx, resources)
	for i, c := range claims {
		note := s
		if i < len(claims)-1 {
			note = nil // the last check writes the outcome row, so that a transaction writes it once
		}
		err = g.prove(ctx, "check", c, func(ctx context.Context) error { return g.checked(ctx, q, begun || i > 0, c, note) })
		if err != nil {
			return err
		}
	}
	return err
}

// checked compares each mark with the lease of the claim. Unless the parameter begun is true, it also verifies that a
// transaction is open. It then lets the transaction write to protected tables, and writes the outcome row s if there is
// one.
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

// claimOf returns the claim of the lease in ctx. It returns an error if ctx carries several leases.
func (g *Guard) claimOf(ctx context.Context, resources []string) (claim, error) {
	if g.err != nil {
		return claim{}, g.err
	}
	leases := rowlock.LeasesFromContext(ctx)
	switch len(leases) {
	case 0:
		return claim{}, ErrNoLease
	case 1:
		c, err := newClaim(g.domain, leases[0], resources)
		c.lazy = g.lazy
		return c, err
	default:
		return claim{}, fmt.Errorf("fence: ctx carries %d leases, and this call needs a single lease: use the Context of one of the Leases", len(leases))
	}
}

// claimsOf returns the claims of the leases in ctx, sorted by resource, so that every transaction locks the marks in
// the same order. A resource with the name of a lease belongs to that lease, and any other resource belongs to the
// first lease.
func (g *Guard) claimsOf(ctx context.Context, resources []string) ([]claim, error) {
	leases := rowlock.LeasesFromContext(ctx)
	if g.err != nil || len(leases) < 2 {
		c, err := g.claimOf(ctx, resources)
		if err != nil {
			return nil, err
		}
		return []claim{c}, nil
	}
	for _, lease := range leases {
		if err := lease.Err(); err != nil { // ctx ends when one of its leases ends, but does not say which
			return nil, fmt.Errorf("fence: check: %q has ended: %w", lease.Name(), err)
		}
	}
	if len(resources) == 0 {
		for _, lease := range leases {
			resources = append(resources, lease.Name())
		}
	}
	var claims []claim
	for _, resource := range slices.Compact(slices.Sorted(slices.Values(resources))) {
		of := leases[0]
		if i := slices.IndexFunc(leases, func(lease *rowlock.Lease) bool { return lease.Name() == resource }); i >= 0 {
			of = leases[i]
		}
		c, err := newClaim(g.domain, of, []string{resource})
		if err != nil {
			return nil, err
		}
		c.lazy = g.lazy
		claims = append(claims, c)
	}
	return claims, nil
}

// prove runs the function work, and cancels its context when c's lease is no longer trusted.
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
