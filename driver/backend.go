package driver

import (
	"context"
	"time"
)

// Backend keeps named locks in one store. Each call makes one attempt, never waits for another
// holder, and ends with ctx. Implementations are safe for concurrent use.
type Backend interface {
	// Acquire asks for r.Key for r.TTL by the store's clock.
	//
	// It returns a [*Held] when the key is not to be had now. A request that carries the nonce of
	// the present grant gets that same grant again, with its expiry counted anew: that is how a
	// request whose reply was lost is sent again.
	Acquire(ctx context.Context, r Request) (Grant, error)

	// Renew extends the grants that are still alive by the store's clock to a full TTL from now.
	// The outcomes are in the order of the grants. An error means that nothing is known of any.
	Renew(ctx context.Context, grants []Grant) ([]Outcome, error)

	// Release ends g, matching key, nonce and token. It is repeatable: releasing what this same
	// grant has released before is no error. [ErrNotHeld] means that the store knows the grant no
	// more; any other error means that the outcome is unknown.
	//
	// A zero g.Token matches whatever token the nonce was granted, and is repeatable only as far as
	// that is known: [ErrNotHeld] once it is released. The engine uses that to take back an acquire
	// whose reply it never saw.
	Release(ctx context.Context, g Grant) error

	// Capabilities says what the backend promises. It does no I/O. The zero value promises the least.
	Capabilities() Capabilities
}

// Request asks for a lock.
type Request struct {
	Key    Key
	Nonce  Nonce         // identifies the acquisition; the same on every attempt of it
	TTL    time.Duration // how long the store grants without renewal
	Holder string        // who asks, for people
	Note   string        // why, for people

	MinHold       time.Duration // the key stays closed until granted+MinHold, released or not
	HandoverDelay time.Duration // the key stays closed this long after an expiry without release

	// Seal, unless it is empty, asks a backend with [Capabilities].SealsAt to raise the fence mark of Key's own name to the
	// grant's token and nonce in the same step, as the Seal of package fence would: Seal is the mark's
	// domain. The step waits for the transactions that hold the mark, and is undone if that takes too
	// long, which is a [*Held] with the reason [Draining].
	Seal string

	// Waiting says that this acquisition was refused before, or another that waited before it in the
	// same process. A store that reads cheaper than it writes looks first; the answer is the same.
	Waiting bool

	// Waits says that whoever is refused waits: he asks to be told by a [Notifier], and then asks again.
	Waits bool
}

// Grant is one holding of one lock.
type Grant struct {
	Key   Key
	Nonce Nonce
	Token Token

	TTL           time.Duration // as granted, which renewal asks for again
	MinHold       time.Duration // as requested
	HandoverDelay time.Duration // as requested

	// Sealed says that the mark that Request.Seal asked for was raised with the grant. Where it was
	// not, for whatever reason, the engine has the guard seal.
	Sealed bool

	// Earlier says that the store made the grant before this request was sent, to one of the same nonce that was
	// refused as [Held.Pending]. The engine then trusts it from before that one was sent.
	Earlier bool
}

// Outcome says what became of one grant in a renewal.
type Outcome uint8

const (
	// Unknown: this grant could not be told about; it is asked for again until its deadline.
	Unknown Outcome = iota
	// Renewed: the grant lives for its full TTL, counted from after the request was sent.
	Renewed
	// Lost: the store does not hold this grant any more: it expired, was taken or was ended.
	Lost
)

// String names the outcome.
func (o Outcome) String() string {
	switch o {
	case Renewed:
		return "renewed"
	case Lost:
		return "lost"
	default:
		return "unknown"
	}
}
