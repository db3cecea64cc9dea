package fence

import (
	"errors"
	"fmt"

	"github.com/rowlock/rowlock"
)

// The outcomes that a caller acts on, for errors.Is.
var (
	// ErrStale: the lease is not the one that sealed the resource last. It is final: the
	// transaction must be rolled back, and no repetition helps. The error is a [*StaleError] if it
	// was not a protected table that refused ([Guard.Explain]).
	ErrStale = errors.New("fence: stale")
	// ErrRetry: the database refused the transaction in favour of another one. Nothing is known of
	// the lease yet: roll back and run the whole transaction again, which [Guard.Tx] does. Of
	// [Guard.Seal] it means that an older transaction still holds the mark.
	ErrRetry = errors.New("fence: run the transaction again")
	// ErrUnchecked: a protected table refused a write in a transaction that has passed no check
	// ([Guard.Protect], [Guard.Explain]). Where there was a check, the guard lacks the option
	// [Protected].
	ErrUnchecked = errors.New("fence: write without a check")
	// ErrDomain: the mark's token comes from another store or another lock than the lease's, and the
	// two cannot be compared. It is final until an operator resets the mark, which the error's text
	// names the command for. The error is a [*DomainError].
	ErrDomain = errors.New("fence: tokens of two domains")
	// ErrNoLease: there is no lease in the context. Use the one that Do hands to its function, that
	// of the lease, or one made from them.
	ErrNoLease = errors.New("fence: no lease in the context")
)

// StaleError says which resource refused which lease.
type StaleError struct {
	Resource string
	Token    rowlock.Token // of the lease
	Newest   rowlock.Token // of the lease that sealed the resource last; zero if none has
}

func (e *StaleError) Error() string {
	switch {
	case e.Newest > e.Token:
		return fmt.Sprintf("fence: stale: %q was sealed by a newer holder, with token %d after our %d", e.Resource, e.Newest, e.Token)
	case e.Newest == e.Token:
		return fmt.Sprintf("fence: stale: %q was sealed by another holder with the same token %d: the lock's store has lost its history", e.Resource, e.Token)
	case e.Newest == 0:
		return fmt.Sprintf("fence: stale: %q was never sealed by this lease (token %d), nor by any other", e.Resource, e.Token)
	default:
		return fmt.Sprintf("fence: stale: %q was never sealed by this lease (token %d), but last with token %d", e.Resource, e.Token, e.Newest)
	}
}

// Is makes a *StaleError an [ErrStale].
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// DomainError says which resource was sealed with a token that the lease's is not comparable with.
type DomainError struct {
	Resource string
	Domain   string        // of the lease: the store, a space, the lock
	Sealed   string        // the mark's
	Newest   rowlock.Token // the mark's
}

func (e *DomainError) Error() string {
	return fmt.Sprintf("fence: %q is sealed with token %d of %q, which a token of %q is not comparable with; "+
		"if that lock is used no more: rowlock fence reset --token %[2]d %[1]q", e.Resource, e.Newest, e.Sealed, e.Domain)
}

// Is makes a *DomainError an [ErrDomain].
func (e *DomainError) Is(target error) bool { return target == ErrDomain }

// SchemaError says that the fence table is missing or older than this version of the library. The
// message names the command and the call that mend it.
type SchemaError struct {
	Table string // the lease table, as the option [Table] names it
	Err   error  // what the database said
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("fence table %s_fence is missing or out of date: run `rowlock migrate up`, or call migrations.Up: %v", e.Table, e.Err)
}

// Unwrap returns what the database said.
func (e *SchemaError) Unwrap() error { return e.Err }

// retry marks what the database undid, so that running it again may succeed.
func retry(err error) error { return fmt.Errorf("%w: %w", ErrRetry, err) }

// unprivileged says where to read on about a missing privilege.
func unprivileged(err error) error {
	return fmt.Errorf("%w: the user lacks a privilege on the fence table: see the documentation of package migrations", err)
}
