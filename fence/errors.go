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
	// ErrOtherDomain: the mark's token comes from another store or another lock than the lease's, and the
	// two cannot be compared. It is final until an operator resets the mark, which the error's text
	// names the command for. The error is a [*OtherDomainError].
	ErrOtherDomain = errors.New("fence: the mark is of another token domain")
	// ErrUnknown: the connection broke at the commit, and the database could not be asked for long
	// enough what became of it. It may have been committed, or be committed still. Only [Guard.Tx] and
	// [Guard.TxPgx] return it; the error wraps that of the commit. On SQLite it is also the error where the function ignored that a
	// statement had ended the transaction: what the function wrote after that was committed.
	ErrUnknown = errors.New("fence: the commit may have been applied")
	// ErrReadOnly: the transaction takes no writes, so that the check cannot lock the mark. It was begun read-only, or the server is a standby.
	// Nothing is known of the lease: roll back, and begin a transaction that writes, on the primary.
	ErrReadOnly = errors.New("fence: the transaction is read-only")
	// ErrNoLease: there is no lease in the context. Use the one that Do hands to its function, that
	// of the lease, or one made from them.
	ErrNoLease = errors.New("fence: no lease in the context")
)

// StaleError says which resource refused which lease.
type StaleError struct {
	Namespace string
	Resource  string
	Token     rowlock.Token // of the lease; zero if its store grants none
	Newest    rowlock.Token // of the lease that sealed the resource last; zero if none has
	// Ahead: Seal was refused although the lock's store, asked after that, still holds the lock for
	// the lease. So the mark's token is none that this store has granted since. The error's text
	// names the command that resets the mark.
	Ahead bool
}

// howToSeal is for callers who have a guard and do not use its other half.
const howToSeal = "make the Locker with the option rowlock.Fenced(guard), or call Guard.Seal after each acquire"

func (e *StaleError) Error() string {
	switch {
	case e.Token == 0 && e.Newest == 0:
		return fmt.Sprintf("fence: stale: %q was never claimed by this lease, nor by any other: make the Locker with the option rowlock.Fenced(guard.Claims())", e.Resource)
	case e.Token == 0:
		return fmt.Sprintf("fence: stale: %q was claimed last by another holder, with token %d", e.Resource, e.Newest)
	case e.Ahead && e.Newest > e.Token:
		return fmt.Sprintf("fence: stale: %q is sealed with token %d, and the lock's store grants %d and knows of no newer holder: "+
			"it has lost its history, or is another store than before; if so: %s",
			e.Resource, e.Newest, e.Token, resetCommand(e.Namespace, e.Resource, e.Newest))
	case e.Newest > e.Token:
		return fmt.Sprintf("fence: stale: %q was sealed by a newer holder, with token %d after our %d", e.Resource, e.Newest, e.Token)
	case e.Newest == e.Token:
		return fmt.Sprintf("fence: stale: %q was sealed by another holder with the same token %d: the lock's store has lost its history; see to it that this holder is gone, then: %s",
			e.Resource, e.Token, resetCommand(e.Namespace, e.Resource, e.Newest))
	case e.Newest == 0:
		return fmt.Sprintf("fence: stale: %q was never sealed by this lease (token %d): %s; or the mark was reset or pruned since", e.Resource, e.Token, howToSeal)
	default:
		return fmt.Sprintf("fence: stale: %q was never sealed by this lease (token %d), and is sealed with the older token %d: %s; or the mark was reset since",
			e.Resource, e.Token, e.Newest, howToSeal)
	}
}

// Is makes a *StaleError an [ErrStale].
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// OtherDomainError says which resource was sealed with a token that the lease's is not comparable with.
type OtherDomainError struct {
	Namespace string
	Resource  string
	Domain    string        // of the lease: the store, a space, the lock
	Sealed    string        // the mark's
	Newest    rowlock.Token // the mark's
}

func (e *OtherDomainError) Error() string {
	return fmt.Sprintf("fence: %q is sealed with token %d of %q, which a token of %q is not comparable with; "+
		"if that lock is used no more: %s", e.Resource, e.Newest, e.Sealed, e.Domain, resetCommand(e.Namespace, e.Resource, e.Newest))
}

// Is makes a *OtherDomainError an [ErrOtherDomain].
func (e *OtherDomainError) Is(target error) bool { return target == ErrOtherDomain }

// SchemaError says that a table of this package is missing or older than this version of the library. The
// message names the command and the call that mend it.
type SchemaError struct {
	Table string // the lease table, as the option [Table] names it
	Err   error  // what the database said
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("fence table %s_fence or %[1]s_outcome is missing or out of date: run `rowlock migrate up`, or call migrations.Up: %[2]v", e.Table, e.Err)
}

// Unwrap returns what the database said.
func (e *SchemaError) Unwrap() error { return e.Err }

// retry marks what the database undid, so that running it again may succeed.
func retry(err error) error { return fmt.Errorf("%w: %w", ErrRetry, err) }

// unprivileged says where to read on about a missing privilege.
func unprivileged(err error) error {
	return fmt.Errorf("%w: the user lacks a privilege on a table of package fence: see the documentation of package migrations", err)
}
