package rowlock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// opError says what was being done to which lock, what that makes of it, and why.
type opError struct {
	op   string
	key  driver.Key
	kind error // ErrUnavailable or ErrUnknown
	err  error
}

func (e *opError) Error() string {
	kind := "store unavailable"
	if e.kind == ErrUnknown {
		kind = "outcome unknown"
	}
	what := e.op + " " + excerpt(e.key.String()) + ": "
	cause := strings.Replace(oneline.Text(e.err), what, "", 1) // which a backend says as well
	return "rowlock: " + what + kind + ": " + cause
}

func (e *opError) Unwrap() []error { return []error{e.kind, e.err} }

// The outcomes that a caller acts on, for errors.Is. Held, lost, unknown and unavailable are four
// different things and never stand for one another.
var (
	// ErrHeld: somebody else holds the name. The error is a [*HeldError].
	ErrHeld = errors.New("rowlock: held by another")
	// ErrLost: the lease ended before it was released. The error is a [*LostError].
	ErrLost = errors.New("rowlock: lost")
	// ErrNotHeld: the operation needs a lease that is held, and this one is not.
	ErrNotHeld = errors.New("rowlock: not held")
	// ErrReleased: the lease was released by its holder. It is an [ErrNotHeld], too.
	ErrReleased = fmt.Errorf("%w: released", ErrNotHeld)
	// ErrUnavailable: the store could not be asked, or refused to be, so nothing was acquired.
	ErrUnavailable = errors.New("rowlock: store unavailable")
	// ErrUnknown: the store was asked and its answer did not arrive, so what was asked for may
	// have happened or not.
	ErrUnknown = errors.New("rowlock: outcome unknown")
	// ErrClosed: the locker is closed.
	ErrClosed = errors.New("rowlock: locker is closed")
	// ErrNested: the ctx of the call carries a lease of the same name, which would have to end first. It is an [ErrHeld], too.
	ErrNested = errors.New("rowlock: acquired inside itself")
)

// HeldError says who has a name that could not be acquired.
type HeldError struct {
	Namespace string
	Name      string
	Reason    driver.Reason // held, or closed and why
	Holder    string        // who, in the holder's own words; empty when not known
	Note      string        // the holder's note
	Token     Token         // the holder's token; zero when not known
	Since     time.Time     // when it was granted, told by this machine's clock; zero when not known
	ExpiresIn time.Duration // until the name is free unless the lease is renewed; zero when not known
	Waited    time.Duration // how long the caller waited for it
}

func newHeldError(key driver.Key, h *driver.Held, now time.Time) *HeldError {
	e := &HeldError{
		Namespace: key.Namespace, Name: key.Name,
		Reason: h.Reason, Holder: h.Holder, Note: h.Note, Token: h.Token, ExpiresIn: h.ExpiresIn,
	}
	if h.Since > 0 {
		e.Since = now.Add(-h.Since)
	}
	return e
}

// Error is one sentence for an operator: what, who, where, since when, until when.
func (e *HeldError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q is %s", driver.Key{Namespace: e.Namespace, Name: e.Name}.String(), e.Reason)
	if e.Holder != "" {
		by := " by "
		if e.Reason != driver.Leased && e.Reason != driver.Paused {
			by = ", last held by "
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

// Is makes a *HeldError an [ErrHeld].
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// nestedError is an [ErrNested].
type nestedError struct {
	key   driver.Key
	token Token
}

func (e *nestedError) Error() string {
	return fmt.Sprintf("rowlock: acquire %s: the ctx of the call carries a lease of this name (token %d), so the call would wait for itself: use that lease, or a ctx without it",
		excerpt(e.key.String()), e.token)
}

// Is makes it an [ErrNested] and an [ErrHeld].
func (e *nestedError) Is(target error) bool { return target == ErrNested || target == ErrHeld }

// LostError says which lease was lost, and how that became known.
type LostError struct {
	Namespace string
	Name      string
	Token     Token
	Reason    LostReason
	// Err is how the last attempt to renew it failed, with [LostExpired]; nil when the last one succeeded or has not ended. It is
	// not unwrapped: that an attempt ran into its time limit says nothing of the caller's ctx.
	Err error
}

func (e *LostError) Error() string {
	text := fmt.Sprintf("rowlock: lost %q (token %d): %s", driver.Key{Namespace: e.Namespace, Name: e.Name}.String(), e.Token, e.Reason)
	if e.Err != nil {
		text += "; the last attempt: " + oneline.Text(e.Err)
	}
	return text
}

// Is makes a *LostError an [ErrLost] and an [ErrNotHeld].
func (e *LostError) Is(target error) bool { return target == ErrLost || target == ErrNotHeld }

// LostReason says how a loss became known.
type LostReason uint8

const (
	// LostExpired: the deadline passed without a successful renewal.
	LostExpired LostReason = iota + 1
	// LostTaken: the store said that the lease is not ours any more.
	LostTaken
	// LostMaxHold: the lease reached its maximum hold.
	LostMaxHold
	// LostSession: the connection that the lease lived on is gone.
	LostSession
)

// String says the reason in words.
func (r LostReason) String() string {
	switch r {
	case LostExpired:
		return "no renewal succeeded before the deadline"
	case LostTaken:
		return "the store does not hold this lease any more"
	case LostMaxHold:
		return "the maximum hold is over"
	case LostSession:
		return "the connection that it lived on is gone"
	default:
		return fmt.Sprintf("LostReason(%d)", uint8(r))
	}
}

// legible is a text of another program as it is, or in Go's quotes if it holds a character that is not printed: one that
// would move the cursor of a terminal, or end the line of a log.
func legible(text string) string {
	for _, r := range text {
		if !strconv.IsPrint(r) {
			return strconv.Quote(text)
		}
	}
	return text
}

// round shortens a duration for people.
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
