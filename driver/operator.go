package driver

import (
	"context"
	"time"
)

// Operator is implemented by a backend whose locks people can list, repair and pause.
type Operator interface {
	// List returns the locks of namespace, ordered by name. If all is set, it returns those of every
	// namespace, ordered by namespace and name.
	List(ctx context.Context, namespace string, all bool) ([]Status, error)

	// Inspect returns the state of one lock. For a key that the store has never seen, or has pruned, it
	// returns a free lock with token zero.
	Inspect(ctx context.Context, key Key) (Status, error)

	// ForceRelease ends the lease or pause of key if its token is still token. It raises the token, so that
	// the old holder is fenced. Unless live is set, it returns a [*Held] for a pause and for a lease that has
	// not expired. It returns [ErrNotHeld] if nobody holds the key or its token has changed.
	ForceRelease(ctx context.Context, key Key, token Token, live bool) error

	// Prune deletes locks that nobody has held for the given time, and returns how many. Later tokens are
	// larger than the tokens of deleted locks.
	Prune(ctx context.Context, unused time.Duration) (int, error)

	// Pause replaces g by a pause with the same token, holder and note. A pause does not expire,
	// needs no renewal, and outlives every connection and restart. Other requests are refused with the reason
	// [Paused], until a call of [Operator.ForceRelease] with live set ends the pause. From then on the nonce of g is
	// invalid: Renew returns [Lost], and Release returns [ErrNotHeld]. The HandoverDelay and the MinHold of g
	// no longer apply.
	//
	// as is the nonce of the pause. A repeated request changes nothing. Pause returns [ErrNotHeld] if the
	// store no longer holds g. It never revives an expired grant. Any other error, except one made by
	// [NotApplied] or [Permanent], means that the outcome is unknown. Pause waits for no other holder.
	//
	// Not every store can pause a key. [Capabilities].Pauses says which can. The others return an error made
	// by [Permanent].
	Pause(ctx context.Context, g Grant, as Nonce) error
}

// Status is the state of one lock as the store sees it. Times are durations by the store's clock.
type Status struct {
	Key       Key
	State     State
	Token     Token
	Holder    string        // the current holder, or the last one
	Note      string        // that holder's note
	Age       time.Duration // since the grant; zero if it was never granted
	ExpiresIn time.Duration // until the lease ends unless renewed, negative after it has expired, zero for a pause
	FreeIn    time.Duration // until the key can be granted; zero if it can be now, and for a pause
}

// State is the state of a lock.
type State uint8

const (
	// StateFree: the key can be granted now.
	StateFree State = iota
	// StateHeld: a lease has not expired.
	StateHeld
	// StateExpired: a lease ended without release. Its holder is presumed dead.
	StateExpired
	// StateClosed: the lease was released or has expired, and a minimum hold or a hand-over delay is not
	// over.
	StateClosed
	// StatePaused: the key is paused. Holder names the operator, and Note says why.
	StatePaused
)

// String returns the state as one lower-case word.
func (s State) String() string {
	switch s {
	case StateHeld:
		return "held"
	case StateExpired:
		return "expired"
	case StateClosed:
		return "closed"
	case StatePaused:
		return "paused"
	default:
		return "free"
	}
}
