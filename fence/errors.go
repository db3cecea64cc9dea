package fence

import (
	"errors"
	"fmt"

	"github.com/rowlock/rowlock"
)

// The errors that a caller acts on, for errors.Is.
var (
	// ErrStale means that this lease was not the last to seal the resource. It is final: roll back the transaction and
	// do not retry. The error is a [*StaleError], unless a protected table rejected the write ([Guard.Explain]).
	ErrStale = errors.New("fence: stale")
	// ErrRetry means that the database rejected the transaction in favour of another one. It says nothing about the
	// lease. Roll back and run the whole transaction again; [Guard.Tx] does that. From [Guard.Seal], it means that an
	// older transaction still locks the mark.
	ErrRetry = errors.New("fence: run the transaction again")
	// ErrUnchecked means that a protected table rejected a write in a transaction without a check ([Guard.Protect],
	// [Guard.Explain]). If the transaction was checked, the guard lacks the option [Protected].
	ErrUnchecked = errors.New("fence: write without a check")
	// ErrOtherDomain means that the mark's token comes from another store or another lock than the lease's token, so
	// that the two cannot be compared. It is final until an operator resets the mark. The error text contains the
	// command for that. The error is a [*OtherDomainError].
	ErrOtherDomain = errors.New("fence: the mark is of another token domain")
	// ErrUnknown means that the connection broke at the commit, and that the database did not report the outcome in
	// time. The transaction may have been committed, or may be committed later. Only [Guard.Tx] and [Guard.TxPgx]
	// return it, and it wraps the error of the commit. On SQLite it has a second cause: the function ignored that a
	// statement had ended the transaction. What the function wrote after that statement is committed.
	ErrUnknown = errors.New("fence: the commit may have been applied")
	// ErrReadOnly means that the transaction cannot write, so the check cannot lock the mark. The transaction was begun
	// read-only, or the server is a standby. It says nothing about the lease. Roll back, and begin a transaction that
	// can write, on the primary.
	ErrReadOnly = errors.New("fence: the transaction is read-only")
	// ErrNoLease means that the context has no lease. Use the context that Do passes to its function, the lease's own
	// context, or one derived from them.
	ErrNoLease = errors.New("fence: no lease in the context")
)

// StaleError says which resource rejected which lease.
type StaleError struct {
	Namespace string
	Resource  string
	Token     rowlock.Token // token of the lease; zero if its store grants no tokens
	Newest    rowlock.Token // token of the lease that sealed the resource last; zero if no lease has sealed it
	// Ahead says that Seal was rejected although the lock's store, asked afterwards, still holds the lock for this
	// lease. So the mark's token is larger than any that this store has granted since. The error text contains the
	// command that resets the mark.
	Ahead bool
}

// howToSeal advises callers that have a guard and never seal.
const howToSeal = "pass the option rowlock.Fenced(guard) to rowlock.New, or call Guard.Seal after each acquire"

func (e *StaleError) Error() string {
	switch {
	case e.Token == 0 && e.Newest == 0:
		return fmt.Sprintf("fence: stale: %q was never claimed, by this lease or any other: pass the option rowlock.Fenced(guard.Claimer()) to rowlock.New", e.Resource)
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

// Is reports that a *StaleError is an [ErrStale].
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// OtherDomainError says which resource was sealed with a token that is not comparable with the lease's token.
type OtherDomainError struct {
	Namespace string
	Resource  string
	Domain    string        // domain of the lease's token: the store, a space, the lock
	Sealed    string        // the mark's domain
	Newest    rowlock.Token // the mark's token
}

func (e *OtherDomainError) Error() string {
	return fmt.Sprintf("fence: %q is sealed with token %d of %q, which a token of %q is not comparable with; "+
		"if that lock is no longer used: %s", e.Resource, e.Newest, e.Sealed, e.Domain, resetCommand(e.Namespace, e.Resource, e.Newest))
}

// Is reports that a *OtherDomainError is an [ErrOtherDomain].
func (e *OtherDomainError) Is(target error) bool { return target == ErrOtherDomain }

// SchemaError says that a table of this package is missing, or older than this version of the library requires. The
// message names the command and the function that migrate it.
type SchemaError struct {
	Table string // the lease table, as in the option [Table]
	Err   error  // the database's error
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("fence table %s_fence or %[1]s_outcome is missing or out of date: run `rowlock migrate up`, or call migrations.Up: %[2]v", e.Table, e.Err)
}

// Unwrap returns the database's error.
func (e *SchemaError) Unwrap() error { return e.Err }

// retry marks an error after which the database may accept the same transaction.
func retry(err error) error { return fmt.Errorf("%w: %w", ErrRetry, err) }

// unprivileged adds where to read about a missing privilege.
func unprivileged(err error) error {
	return fmt.Errorf("%w: the user lacks a privilege on a table of package fence: see the documentation of package migrations", err)
}
