package driver

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNotHeld is returned by Release if the store does not have the grant, and by [Operator.ForceRelease] if there is
// nothing to release.
var ErrNotHeld = errors.New("not held")

// Held is the error that says why a key cannot be granted now. Its times are durations measured by the store's clock,
// so nobody has to compare two clocks.
type Held struct {
	Reason    Reason
	Holder    string        // the holder, or the last holder
	Note      string        // the note of Holder
	Token     Token         // the token of Holder; zero if unknown
	Since     time.Duration // how long ago Holder was granted the key; zero if unknown
	ExpiresIn time.Duration // time until the key becomes free unless the lease is renewed; zero if unknown
	Readers   int           // the number of shares, if the key is held by readers and the store knows it; Holder is then one of them
	Ahead     int           // the number of waiters that have waited longer than the caller, as far as the store knows

	// Pending reports that the store has recorded the request and may grant it when the key becomes free.
	// The store then notifies the waiter, even if the waiter calls Notify only after the grant.
	// A retry with the same nonce returns the grant, and need not start its TTL again: the engine counts the TTL from
	// just before it sent the first request that the store recorded. A waiter that gives up calls Release with that
	// nonce and a zero token, which also withdraws the request.
	Pending bool

	// Listed reports that the store has listed the caller as a waiter, and notifies it when the key may be free. The
	// engine then polls seldom: after 20 seconds at the latest, or when the time of ExpiresIn is over. So the store must
	// keep the caller listed for longer than that. A backend does not set Listed if nobody is notified when the reason
	// of the refusal ends, or while its connection for notifications is lost. When it has lost that connection, it wakes
	// all waiters, so that they begin to poll more often. Instead, a backend may leave Listed unset for a few of many
	// waiters, whose polls then find out for all that the key is free.
	Listed bool
}

// Error returns a text with the reason and the fields that the store has reported. Fields can be unknown: for example,
// the holder is unknown if an open transaction has locked the row.
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

// Reason says why a key cannot be granted.
type Reason uint8

const (
	// Leased: another holder has a lease.
	Leased Reason = iota
	// MinHold: the lease was released, and its minimum hold is not over.
	MinHold
	// Handover: the lease expired, and its hand-over delay is not over.
	Handover
	// Quarantine: a failover or a restore has replaced the server that made the last grants. The new server grants
	// nothing until every lease that the previous server may have granted has ended.
	Quarantine
	// Contended: another request is changing the lock, or has locked it in an open transaction.
	Contended
	// Draining: the lock is free, but the request has Seal set and cannot seal yet. A transaction in which an older
	// holder checked the fence mark is still open.
	Draining
	// Reserved: the lock is free, but reserved briefly for the process that has waited longest. A request for a share is
	// also refused with this reason while a waiter for an exclusive grant waits.
	Reserved
	// Paused: an operator has paused the key. Holder names the operator, and Note says why.
	Paused
)

// String returns the reason in words.
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
		return "reserved for another waiter"
	case Paused:
		return "paused"
	default:
		return fmt.Sprintf("Reason(%d)", uint8(r))
	}
}

// NotApplied marks err as the failure of a request that has had no effect and will have none later. For example,
// the connection failed, or the store is not ready. The engine may send the request again.
func NotApplied(err error) error { return &failure{err: err} }

// Permanent marks err as the failure of a request that had no effect, and that a retry cannot fix. For
// example, a table or a privilege is missing, or the store cannot support an option.
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
