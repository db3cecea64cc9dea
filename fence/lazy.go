package fence

import (
	"context"
	"errors"
)

// Lazy makes a guard that needs no [Guard.Seal]: [Guard.Check] raises a mark that is older than the
// lease itself, in the caller's transaction. The first transaction of a new holder then waits for
// those that an older one has checked, and the holder's other transactions wait for it to end, or
// get an [ErrRetry].
//
// It covers the order of the writes: none commits after one of a newer lease. It does not cover
// reads. Between a new holder's first read and its first checked transaction, an older one may still
// write. And at REPEATABLE READ, whose transactions work on a snapshot, the first one of a new holder
// may not see the last one of its predecessor, for which it has waited. On Postgres, SERIALIZABLE
// mends that if all transactions use it. So what a holder writes must not depend on what it has read.
// Where it does, seal; a lazy guard can.
func Lazy() Option {
	return func(o *options) { o.lazy = true }
}

var errRaiseUndone = errors.New("the transaction that had raised the mark was rolled back")

// raiseLazily raises the mark before it is checked, if that is lazy. It reads without a lock before:
// two transactions of one holder that had locked the mark together could not both go on to raise it.
// What the statement has done is told by the check: at some levels, this transaction's plain reads
// would not see that another one has been faster. sent is whether it sent a statement that raises the mark.
func (m marks) raiseLazily(ctx context.Context, q querier, c claim, resource string) (sent bool, err error) {
	if !c.lazy {
		return false, nil
	}
	return m.lift(ctx, q, c, resource)
}

// refuseCheck is the error of a check that finds the mark of another lease, or none. A lazy one that
// finds an older mark has read a newer one that was never committed (READ UNCOMMITTED).
func (c claim) refuseCheck(resource string, m mark) error {
	if c.lazy && m.token < c.token {
		return retry(errRaiseUndone)
	}
	return c.refuse(resource, m)
}
