package fence

import (
	"errors"
	"fmt"

	"github.com/rowlock/rowlock"
)

// Errors that a caller can recognise with errors.Is.
var (
	// ErrStale means that this lease was not the last to seal the resource. It is final: roll back the transaction and
	// do not retry. The error is a [*StaleError], unless a protected table rejected the write ([Guard.Explain]).
	ErrStale = errors.New("fence: stale")
	// ErrRetry means that the database rejected the transaction in favour of another one. It does not mean that the
	// lease has ended. Roll back and run the whole transaction again; [Guard.Tx] does that. If [Guard.Seal] returns
	// ErrRetry, an older transaction still locks the mark.
	ErrRetry = errors.New("fence: run the transaction again")
	// ErrUnchecked means that a protected table rejected a write in a transaction without a check ([Guard.Protect],
	// [Guard.Explain]). If the transaction was checked, the guard lacks the option [Protected].
	ErrUnchecked = errors.New("fence: write without a check")
	// ErrOtherDomain means that the mark's token comes from another store or another lock than the lease's token,
	// so that the two cannot be compared. The error persists until an operator resets the mark.
	// The error text contains the command that resets it. The error is a [*OtherDomainError].
	ErrOtherDomain = errors.New("fence: the mark is of another token domain")
	// ErrUnknown means that the commit got no reply, and that Tx could not find out its outcome in time.
	// The transaction may have been committed, or may be committed later. Only [Guard.Tx] and [Guard.TxPgx] return it,
	// and it wraps the error of the commit. On SQLite it has a second cause: a statement ended the
	// transaction, and the function ignored that. SQLite then has committed every later write of the function.
	ErrUnknown = errors.New("fence: the commit may have been applied")
	// ErrReadOnly means that the transaction cannot write, so the check cannot lock the mark. The transaction was begun
	// read-only, or the server is a standby. ErrReadOnly does not mean that the lease has ended. Roll back,
	// and begin a transaction that can write, on the primary.
	ErrReadOnly = errors.New("fence: the transaction is read-only")
	// ErrNoLease means that the context has no lease. Use the context that Do passes to its function, the lease's own
	// context, or one derived from them.
	ErrNoLease = errors.New("fence: no lease in the context")
)

// StaleError says that a resource has rejected a lease.
type StaleError struct {
	Namespace string
	Resource  string
	Token     rowlock.Token // token of the lease; zero if its store grants no tokens
	Newest    rowlock.Token // token of the lease that sealed the resource last; zero if no lease has sealed it
	// Ahead reports that Seal was rejected, but that a renewal after the rejection succeeded. So the lock's store still
	// has this lease, and no newer grant of that store has raised the mark. The error text contains the command that
	// resets the mark.
	Ahead bool
}

// howToSeal is the advice for callers that check but never seal.
const howToSeal = "pass the option rowlock.Fenced(guard) to rowlock.New, or call Guard.Seal after each acquire"

func (e *StaleError) Error() string {
	switch {
	case e.Token == 0 && e.Newest == 0:
		return fmt.Sprintf("fence: stale: %q was never claimed, by this lease or any other: pass the option rowlock.Fenced(guard.Claimer()) to rowlock.New", e.Resource)
	case e.Token == 0:
		return fmt.Sprintf("fence: stale: %q was claimed last by another holder, with token %d", e.Resource, e.Newest)
	case e.Ahead && e.Newest > e.Token:
		return fmt.Sprintf("fence: stale: %q is sealed with token %d, but the lock's store grants the smaller token %d and has no newer holder: "+
			"the store has lost its data, or is not the store that granted the larger token; if so: %s",
			e.Resource, e.Newest, e.Token, resetCommand(e.Namespace, e.Resource, e.Newest))
	case e.Newest > e.Token:
		return fmt.Sprintf("fence: stale: %q was sealed by a newer holder, with token %d after our %d", e.Resource, e.Newest, e.Token)
	case e.Newest == e.Token:
		return fmt.Sprintf("fence: stale: %q was sealed by another holder with the same token %d: the lock's store has lost its data; make sure that the other holder has stopped, then: %s",
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

// OtherDomainError says that a resource was sealed with a token that is not comparable with the lease's token.
type OtherDomainError struct {
	Namespace string
	Resource  string
	Domain    string        // domain of the lease's token: the store, a space, the lock's name
	Sealed    string        // the mark's domain
	Newest    rowlock.Token // the mark's token
}

func (e *OtherDomainError) Error() string {
	return fmt.Sprintf("fence: %q is sealed with token %d of %q, and tokens of %q cannot be compared with it; "+
		"if that lock is no longer used: %s", e.Resource, e.Newest, e.Sealed, e.Domain, resetCommand(e.Namespace, e.Resource, e.Newest))
}

// Is reports that a *OtherDomainError is an [ErrOtherDomain].
func (e *OtherDomainError) Is(target error) bool { return target == ErrOtherDomain }

// SchemaError says that a table of this package is missing, or is older than this version of the library requires. The
// message names the command and the function that create or update the tables.
type SchemaError struct {
	Table string // the lease table, as in the option [Table]
	Err   error  // the database's error
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("fence table %s_fence or %[1]s_outcome is missing or out of date: run `rowlock migrate up`, or call migrations.Up: %[2]v", e.Table, e.Err)
}

// Unwrap returns the database's error.
func (e *SchemaError) Unwrap() error { return e.Err }

// retry wraps an error as an [ErrRetry], because the database may accept the same transaction if it runs again.
func retry(err error) error { return fmt.Errorf("%w: %w", ErrRetry, err) }

// unprivileged adds to err where the documentation lists the privileges.
func unprivileged(err error) error {
	return fmt.Errorf("%w: the user lacks a privilege on a table of package fence: see the documentation of package migrations", err)
}
