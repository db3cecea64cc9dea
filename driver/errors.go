package driver

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNotHeld is what Release returns when the store knows the grant no more, and what
// [Operator.ForceRelease] returns when there is nothing to release.
var ErrNotHeld = errors.New("not held")

// Held is the answer that a key is not to be had now. All times are the store's, as durations, so
// that no two clocks are compared.
type Held struct {
	Reason    Reason
	Holder    string        // who holds it, or who held it last
	Note      string        // that holder's note
	Token     Token         // that holder's token; zero when not known
	Since     time.Duration // how long ago it was granted; zero when not known
	ExpiresIn time.Duration // until it is free unless renewed; zero when not known
	Ahead     int           // waiters that have waited longer, as far as the store knows any

	// Pending says that the store has taken note of the request, and may grant it by itself when the key becomes
	// free; it wakes the waiter then, also one whose Notify comes later. Asking again with the same nonce brings the grant. Who gives up
	// releases with that nonce and a zero token, which also withdraws the request.
	Pending bool
}

// Error says only what is known: of a lock in a transaction, for one, the store knows no holder.
func (h *Held) Error() string {
	var known []string
	if h.Holder != "" {
		who := "last holder"
		if h.Reason == Leased || h.Reason == Paused {
			who = "holder"
		}
		known = append(known, fmt.Sprintf("%s %q", who, h.Holder))
	}
	if h.Token != 0 {
		known = append(known, fmt.Sprintf("token %d", h.Token))
	}
	if h.ExpiresIn > 0 {
		known = append(known, fmt.Sprintf("free in %s", h.ExpiresIn))
	}
	if len(known) == 0 {
		return h.Reason.String()
	}
	return h.Reason.String() + ": " + strings.Join(known, ", ")
}

// Reason says why a key is not to be had.
type Reason uint8

const (
	// Leased: somebody holds it.
	Leased Reason = iota
	// MinHold: it was released, and stays closed until its minimum hold is over.
	MinHold
	// Handover: its lease expired, and it stays closed for the holder's hand-over delay.
	Handover
	// Quarantine: the store is not the one that granted last (failover, restore), and grants
	// nothing until every lease that the other may have granted is over.
	Quarantine
	// Contended: somebody was changing it at that moment, or holds it in an open transaction.
	Contended
	// Draining: nobody holds it, but a transaction in which an older holder has checked its fence mark
	// has not ended, and the grant was to be sealed.
	Draining
	// Reserved: nobody holds it, and for a moment it is kept for the waiter that has waited longest.
	Reserved
	// Paused: an operator keeps it closed until he opens it; Holder says who, and Note why.
	Paused
)

// String names the reason.
func (r Reason) String() string {
	switch r {
	case Leased:
		return "held"
	case MinHold:
		return "closed until its minimum hold is over"
	case Handover:
		return "closed for its hand-over delay"
	case Quarantine:
		return "closed after a change of server"
	case Contended:
		return "locked by another transaction"
	case Draining:
		return "closed until a transaction of an older holder ends"
	case Reserved:
		return "kept for one who waits for it"
	case Paused:
		return "paused"
	default:
		return fmt.Sprintf("Reason(%d)", uint8(r))
	}
}

// NotApplied marks err as the failure of a request that certainly had no effect and never will:
// the connection could not be made, or the store refused it for now. It may be sent again.
func NotApplied(err error) error { return &failure{err: err} }

// Permanent marks err as the failure of a request that had no effect and that no repetition will
// mend: a missing table, a missing privilege, an option that the store cannot keep.
func Permanent(err error) error { return &failure{err: err, permanent: true} }

// IsNotApplied reports whether err was marked by [NotApplied] or [Permanent].
func IsNotApplied(err error) bool {
	var f *failure
	return errors.As(err, &f)
}

// IsPermanent reports whether err was marked by [Permanent].
func IsPermanent(err error) bool {
	var f *failure
	return errors.As(err, &f) && f.permanent
}

type failure struct {
	err       error
	permanent bool
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }
