package fence

import (
	"context"
	"errors"
)

// Lazy makes a guard that needs no [Guard.Seal]. Its [Guard.Check] raises a mark that is older than the lease,
// in the caller's transaction. The first transaction of a new holder then waits for the open transactions that an older
// holder has checked. Meanwhile the other transactions of the new holder wait for the first one, or get an [ErrRetry].
//
// Lazy protects the order of writes: no write of an older lease commits after a write of a newer lease.
// It does not protect reads. Between the first read and the first checked transaction of a new holder,
// an older holder may still write. At REPEATABLE READ, the first transaction of a new holder may not see the last write
// of its predecessor, because it works on a snapshot. On Postgres, SERIALIZABLE fixes that if all transactions use it.
// So what a holder writes must not depend on what it has read. If your writes depend on reads, call Seal,
// which a lazy guard also supports.
func Lazy() Option {
	return func(o *options) { o.lazy = true }
}

var errRaiseUndone = errors.New("the transaction that raised the mark was rolled back")

// raiseLazily raises the mark before the check, if the claim is lazy. The result sent says whether it sent the
// statement that raises the mark. Before that, raiseLazily reads the mark without a lock. If two transactions of one
// holder had a shared lock on the mark, neither could raise it. The check that follows verifies that the mark was
// raised. A plain read cannot verify that: at some isolation levels it does not see that another transaction has raised
// the mark first.
func (m marks) raiseLazily(ctx context.Context, q querier, c claim, resource string) (sent bool, err error) {
	if !c.lazy {
		return false, nil
	}
	return m.lift(ctx, q, c, resource)
}

// refuseCheck returns the error of a check that finds no mark, or the mark of another lease. A lazy check can find an
// older mark at READ UNCOMMITTED: raiseLazily then read a newer mark that was rolled back before the check.
func (c claim) refuseCheck(resource string, m mark) error {
	if c.lazy && m.token < c.token {
		return retry(errRaiseUndone)
	}
	return c.refuse(resource, m)
}
