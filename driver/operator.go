package driver

import (
	"context"
	"time"
)

// Operator is implemented by a backend whose locks can be listed, mended and closed by people.
type Operator interface {
	// List returns the locks of namespace, ordered by name; with all, those of every namespace,
	// ordered by namespace and name.
	List(ctx context.Context, namespace string, all bool) ([]Status, error)

	// Inspect returns the state of one lock. A key that the store has never seen, or has pruned,
	// is a free lock with token zero.
	Inspect(ctx context.Context, key Key) (Status, error)

	// ForceRelease ends whatever holds key, provided that its token is still token, and raises
	// the token, so that the old holder is fenced. Unless live is set, it refuses a pause and a lease
	// that has not expired with a [*Held]. It returns [ErrNotHeld] when nobody holds the key or the token
	// is another by now.
	ForceRelease(ctx context.Context, key Key, token Token, live bool) error

	// Prune forgets locks that nobody holds and nobody has held for the given time, and reports
	// how many. Tokens granted later are larger than any that were forgotten.
	Prune(ctx context.Context, unused time.Duration) (int, error)

	// Pause makes a pause of the grant g, which keeps its token, holder and note: it does not expire, needs no
	// renewal, outlives every connection and restart, and is refused to others with the reason [Paused] until
	// [Operator.ForceRelease] ends it, with live. From then on the nonce of g is nobody's: Renew finds it
	// lost, and Release does not find it. A HandoverDelay and MinHold of g end with it.
	//
	// as is the nonce of the pause: the same request sent again changes nothing. ErrNotHeld means that the
	// store does not hold g any more; it never revives what has expired. Any other error but one made by
	// [NotApplied] or [Permanent] means that the outcome is unknown. It waits for nobody.
	//
	// Not every store can; [Capabilities].Pauses says which, and the others answer with an error made by [Permanent].
	Pause(ctx context.Context, g Grant, as Nonce) error
}

// Status is the state of one lock as the store sees it. Times are durations by the store's clock.
type Status struct {
	Key       Key
	State     State
	Token     Token
	Holder    string        // present holder, or the last one
	Note      string        // that holder's note
	Age       time.Duration // since the grant; zero when never granted
	ExpiresIn time.Duration // until the lease ends unless renewed; negative once it has expired; zero of a pause
	FreeIn    time.Duration // until the key can be granted; zero when it can, and of a pause
}

// State is the state of a lock.
type State uint8

const (
	// StateFree: it can be granted now.
	StateFree State = iota
	// StateHeld: a lease is alive.
	StateHeld
	// StateExpired: a lease ended without release; whoever held it is presumed dead.
	StateExpired
	// StateClosed: released or expired, and closed by a minimum hold or a hand-over delay.
	StateClosed
	// StatePaused: closed until somebody opens it; the holder is who paused it, and the note says why.
	StatePaused
)

// String is the state in one lower-case word.
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
