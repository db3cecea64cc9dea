package driver

import (
	"context"
	"time"
)

// Operator is implemented by a backend whose locks an operator can list, inspect, release by force, prune and pause.
type Operator interface {
	// List returns the locks of namespace, ordered by name. If the parameter all is true, List ignores namespace and
	// returns the locks of every namespace, ordered by namespace and name.
	List(ctx context.Context, namespace string, all bool) ([]Status, error)

	// Inspect returns the state of one lock. For a key that the store has never seen, or has pruned, it
	// returns a free lock with token zero.
	Inspect(ctx context.Context, key Key) (Status, error)

	// ForceRelease ends the lease or pause of key if the key's current token equals token. It raises the token of the
	// key, so that a fence rejects the old holder. If live is false and the key is paused or has an unexpired lease,
	// ForceRelease changes nothing and returns a [*Held]. It returns [ErrNotHeld] if nobody holds the key or its token
	// has changed.
	ForceRelease(ctx context.Context, key Key, token Token, live bool) error

	// Prune deletes each lock that nobody has held for the time unused or longer. It returns how many it deleted. Later
	// tokens of a deleted lock are larger than its earlier tokens.
	Prune(ctx context.Context, unused time.Duration) (int, error)

	// Pause replaces the grant g by a pause with the same token, holder and note. A pause does not expire,
	// needs no renewal, and outlives every connection and restart. The store refuses every acquire with the reason
	// [Paused], until a call of [Operator.ForceRelease] with live set ends the pause. As soon as the key is paused,
	// Renew of g returns [Lost], and Release of g returns [ErrNotHeld]. The HandoverDelay and the MinHold of g no
	// longer apply.
	//
	// The pause gets the nonce in the parameter as. A second request with the same nonce succeeds and changes nothing.
	// Pause returns [ErrNotHeld] if the store no longer has the grant g. It never revives an expired grant. Any other
	// error, except one made by [NotApplied] or [Permanent], means that the outcome is unknown. Pause does not wait for
	// other holders.
	//
	// Pause works only if [Capabilities].Pauses is set. Otherwise it returns an error made by [Permanent].
	Pause(ctx context.Context, g Grant, as Nonce) error
}

// Status is the state of one lock as the store sees it. Its times are durations measured by the store's clock.
type Status struct {
	Key       Key
	State     State
	Token     Token
	Holder    string        // the current holder, or the last holder
	Note      string        // the note of Holder
	Age       time.Duration // time since the last grant; zero if the key was never granted
	ExpiresIn time.Duration // time until the lease ends unless it is renewed, negative after it has ended, zero for a pause
	FreeIn    time.Duration // time until the key can be granted; zero if it can be granted now, and for a pause
	Done      string        // the last recorded tick, see [Grant]; a List may omit it if the store keeps ticks apart from locks
	Readers   int           // how many shares of the key exist, if it is held by readers; Holder is then one of them
	Waiters   int           // how many processes wait for the key, as far as the store knows; zero if the store keeps no record of them
}

// State is the state of a lock.
type State uint8

const (
	// StateFree: the key can be granted now.
	StateFree State = iota
	// StateHeld: the key has a lease that has not expired.
	StateHeld
	// StateExpired: the last lease expired without a release. Its holder is presumed dead.
	StateExpired
	// StateClosed: the last lease was released or has expired, but its minimum hold or its hand-over delay is not over.
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
