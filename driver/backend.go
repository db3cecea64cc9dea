package driver

import (
	"context"
	"time"
)

// Backend keeps named locks in one store. Each call makes one attempt, never waits for another holder, and
// returns soon after ctx ends. Implementations are safe for concurrent use.
type Backend interface {
	// Acquire requests r.Key for r.TTL, which the store measures with its own clock.
	//
	// Acquire returns a [*Held] if the key cannot be granted now. A request with the nonce of the current
	// grant returns that grant, with its expiry counted anew. This lets the engine repeat a request whose
	// reply was lost.
	Acquire(ctx context.Context, r Request) (Grant, error)

	// Renew extends each grant that has not expired by the store's clock. The new expiry is a full TTL from
	// now. The outcomes are in the order of the grants. After an error, the outcome of every grant is
	// unknown.
	Renew(ctx context.Context, grants []Grant) ([]Outcome, error)

	// Release ends g. Key, nonce and token must all match. Releasing a grant a second time is no error. [ErrNotHeld] means that
	// the store does not hold the grant. Any other error means that the outcome is unknown.
	//
	// A zero g.Token matches every token that was granted to the nonce. With a zero token, Release may return [ErrNotHeld] for a
	// grant that was released before. The engine uses a zero token to release a grant whose reply the engine did not receive.
	Release(ctx context.Context, g Grant) error

	// Capabilities returns what the backend guarantees. It does no I/O. The zero value guarantees the least.
	Capabilities() Capabilities
}

// Request describes the lock to acquire.
type Request struct {
	Key    Key
	Nonce  Nonce         // identifies the acquisition; the same in each of its requests
	TTL    time.Duration // how long the grant lasts without a renewal
	Holder string        // the requester, for people to read
	Note   string        // the purpose, for people to read

	MinHold       time.Duration // the key cannot be granted again before granted+MinHold, even after a release
	HandoverDelay time.Duration // the key cannot be granted for this long after a lease that expired without release

	// Seal is a fence domain, or empty. If it is set, the backend also raises the fence mark of Key's own
	// name to the grant's token and nonce. It does so in the same step, with the effect of Seal in package
	// fence. Only a backend with [Capabilities].SealsAt gets such requests. The step waits for transactions
	// that hold the mark. If that takes too long, the backend undoes the step and returns a [*Held] with the
	// reason [Draining].
	Seal string

	// Waiting reports that an earlier request was refused. That request belongs to this acquisition, or to the waiter before it
	// in the same process. If reads are cheaper than writes in the store, the backend can read first. The result does not depend
	// on Waiting.
	Waiting bool

	// Waits reports that the requester waits after a refusal: it subscribes with [Notifier] and retries later.
	Waits bool
}

// Grant is one acquired lock.
type Grant struct {
	Key   Key
	Nonce Nonce
	Token Token

	TTL           time.Duration // the granted TTL; renewals request the same TTL
	MinHold       time.Duration // the requested minimum hold
	HandoverDelay time.Duration // the requested hand-over delay

	// Sealed reports that the grant also raised the mark that Request.Seal named. If Sealed is false, the guard seals in a
	// separate transaction.
	Sealed bool

	// Earlier reports that the store made the grant before this request was sent, in answer to an earlier request. That request
	// had the same nonce and was refused as [Held.Pending]. The engine then trusts the grant from before the earlier request was
	// sent.
	Earlier bool
}

// Outcome is the result of renewing one grant.
type Outcome uint8

const (
	// Unknown: the store did not report the outcome. The engine retries until the grant's deadline.
	Unknown Outcome = iota
	// Renewed: the grant lasts for its full TTL, counted from an instant after the request was sent.
	Renewed
	// Lost: the store no longer holds this grant. The grant expired or was ended, or the key was granted again.
	Lost
)

// String returns the outcome as a word.
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
