package rowlock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inherit"
	"github.com/rowlock/rowlock/internal/oneline"
)

// opError is a failed operation on a lock.
type opError struct {
	op   string
	key  driver.Key
	kind error // ErrUnavailable or ErrUnknown
	err  error
}

func (e *opError) Error() string {
	kind := "store unavailable: "
	switch {
	case errors.Is(e.err, inherit.ErrParent): // its text names the parent
		kind = ""
	case e.kind == ErrUnknown:
		kind = "outcome unknown: "
	}
	what := e.op + ": "
	if e.key.Name != "" {
		what = e.op + " " + excerpt(e.key.String()) + ": "
	}
	cause := strings.Replace(oneline.Text(e.err), what, "", 1) // so that the text says it only once
	return "rowlock: " + what + kind + cause
}

func (e *opError) Unwrap() []error { return []error{e.kind, e.err} }

// A caller tells the outcomes of a call apart by calling errors.Is with these errors. Held, lost, unknown and
// unavailable are four different outcomes.
var (
	// ErrHeld: another holder has the name. The error is a [*HeldError].
	ErrHeld = errors.New("rowlock: held by another holder")
	// ErrLost: the lease ended before it was released. The error is a [*LostError].
	ErrLost = errors.New("rowlock: lost")
	// ErrNotHeld: the operation needs a held lease, and this lease has ended.
	ErrNotHeld = errors.New("rowlock: not held")
	// ErrReleased: the holder released the lease. The error is also an [ErrNotHeld].
	ErrReleased = fmt.Errorf("%w: released", ErrNotHeld)
	// ErrUnavailable: the store could not be reached, or rejected the request, so nothing was acquired.
	ErrUnavailable = errors.New("rowlock: store unavailable")
	// ErrUnknown: a request was sent and no reply arrived, so it may have been applied or not.
	ErrUnknown = errors.New("rowlock: outcome unknown")
	// ErrClosed: the locker is closed.
	ErrClosed = errors.New("rowlock: locker is closed")
	// ErrNested: the ctx of the call carries a lease of the same name, so the call would wait for itself.
	// The error is also an [ErrHeld].
	ErrNested = errors.New("rowlock: acquired inside itself")
)

// HeldError describes the holder of a name that could not be acquired.
type HeldError struct {
	Namespace string
	Name      string
	Reason    driver.Reason // why the name cannot be granted, for example because it is held or paused
	Holder    string        // the holder's description of itself; empty if unknown
	Note      string        // the holder's note
	Token     Token         // the holder's token; zero if unknown
	Readers   int           // the number of shared leases, if readers hold the name and the store knows it
	Since     time.Time     // when the holder's lease was granted, by this machine's clock; zero if unknown
	ExpiresIn time.Duration // the time until the name becomes free, unless the holder renews its lease; zero if unknown
	Waited    time.Duration // how long the caller waited
}

func newHeldError(key driver.Key, h *driver.Held, now time.Time) *HeldError {
	e := &HeldError{
		Namespace: key.Namespace, Name: key.Name,
		Reason: h.Reason, Holder: h.Holder, Note: h.Note, Token: h.Token, Readers: h.Readers, ExpiresIn: h.ExpiresIn,
	}
	if h.Since > 0 {
		e.Since = now.Add(-h.Since)
	}
	return e
}

// Error returns one sentence for an operator. It names the lock, the holder, the time of the grant,
// and the time until the name is free.
func (e *HeldError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q is %s", driver.Key{Namespace: e.Namespace, Name: e.Name}.String(), e.Reason)
	if e.Holder != "" {
		by := " by "
		switch {
		case e.Reason == driver.Leased || e.Reason == driver.Paused:
		case e.Readers > 0:
			by = ", held by "
		default:
			by = ", last held by "
		}
		if e.Readers > 1 {
			by += fmt.Sprintf("%d readers, one of them ", e.Readers)
		}
		b.WriteString(by + legible(e.Holder))
	}
	if !e.Since.IsZero() {
		fmt.Fprintf(&b, " since %s", e.Since.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if e.ExpiresIn > 0 {
		until := "free in"
		if e.Reason == driver.Leased {
			until = "lease ends in"
		}
		fmt.Fprintf(&b, ", %s %s unless renewed", until, round(e.ExpiresIn))
		if e.Reason != driver.Leased {
			return strings.TrimSuffix(b.String(), " unless renewed") + e.tail()
		}
	}
	return b.String() + e.tail()
}

func (e *HeldError) tail() string {
	var b strings.Builder
	if e.Token != 0 {
		fmt.Fprintf(&b, " (token %d)", e.Token)
	}
	if e.Note != "" {
		fmt.Fprintf(&b, ": %s", legible(e.Note))
	}
	if e.Waited > 0 {
		fmt.Fprintf(&b, "; waited %s", round(e.Waited))
	}
	return b.String()
}

// Is reports whether target is [ErrHeld].
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// nestedError is an [ErrNested].
type nestedError struct {
	key    driver.Key
	token  Token
	shared bool
}

func (e *nestedError) Error() string {
	if e.shared {
		return fmt.Sprintf("rowlock: acquire %s: the ctx of the call carries a shared lease of this name (token %d), so the call could wait for itself, because a writer waits for every reader, and a reader waits for each waiting writer: release the shared lease first, or use it",
			excerpt(e.key.String()), e.token)
	}
	return fmt.Sprintf("rowlock: acquire %s: the ctx of the call carries a lease of this name (token %d), so the call would wait for itself: use that lease, or a ctx without it",
		excerpt(e.key.String()), e.token)
}

// Is reports whether target is [ErrNested] or [ErrHeld].
func (e *nestedError) Is(target error) bool { return target == ErrNested || target == ErrHeld }

// LostError names a lost lease, and says how the loss was noticed.
type LostError struct {
	Namespace string
	Name      string
	Token     Token
	Reason    LostReason
	// Err is the error of the last renewal, if Reason is [LostExpired]. It is nil if that renewal succeeded or is not
	// finished. errors.Is and errors.As do not inspect Err. Otherwise a renewal that timed out would look like a
	// timeout of the caller's ctx.
	Err error
}

func (e *LostError) Error() string {
	text := fmt.Sprintf("rowlock: lost %q (token %d): %s", driver.Key{Namespace: e.Namespace, Name: e.Name}.String(), e.Token, e.Reason)
	if e.Err != nil {
		text += "; the last attempt: " + oneline.Text(e.Err)
	}
	return text
}

// Is reports whether target is [ErrLost] or [ErrNotHeld].
func (e *LostError) Is(target error) bool { return target == ErrLost || target == ErrNotHeld }

// addLoss returns err, joined with ended if ended is an [ErrLost] and err is not.
func addLoss(err, ended error) error {
	if errors.Is(ended, ErrLost) && !errors.Is(err, ErrLost) {
		return oneline.Join(err, ended)
	}
	return err
}

// LostReason says how a loss was noticed.
type LostReason uint8

const (
	// LostExpired: the deadline passed without a successful renewal.
	LostExpired LostReason = iota + 1
	// LostTaken: the store no longer has this lease.
	LostTaken
	// LostMaxHold: the lease reached its maximum hold.
	LostMaxHold
	// LostSession: the connection that kept the lease is gone.
	LostSession
)

// String returns the reason in words.
func (r LostReason) String() string {
	switch r {
	case LostExpired:
		return "no renewal succeeded before the deadline"
	case LostTaken:
		return "the store no longer has this lease"
	case LostMaxHold:
		return "the maximum hold is over"
	case LostSession:
		return "the connection that kept the lease is gone"
	default:
		return fmt.Sprintf("LostReason(%d)", uint8(r))
	}
}

// legible returns text unchanged, or quoted as in Go if it has a character that cannot be printed.
// Another program wrote the text, and such a character could move the cursor of a terminal, or end a line of a log.
func legible(text string) string {
	for _, r := range text {
		if !strconv.IsPrint(r) {
			return strconv.Quote(text)
		}
	}
	return text
}

// round rounds a duration for people to read.
func round(d time.Duration) time.Duration {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(100 * time.Millisecond)
	default:
		return d.Round(time.Millisecond)
	}
}
