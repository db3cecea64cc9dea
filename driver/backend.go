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
	// Acquire returns a [*Held] if the key cannot be granted now. If r.Nonce is the nonce of the current grant,
	// Acquire returns that grant again, and its TTL starts again, unless it had returned a [*Held] with Pending set
	// before. So the engine can repeat a request whose reply was lost.
	Acquire(ctx context.Context, r Request) (Grant, error)

	// Renew extends each grant that has not expired by the store's clock. The new expiry is a full TTL from now.
	// Renew returns one outcome for each grant, in the order of grants. If Renew returns an error,
	// the outcome of every grant is unknown.
	Renew(ctx context.Context, grants []Grant) ([]Outcome, error)

	// Release ends g if its key, nonce and token all match the store's current grant. Releasing a grant a second time
	// is not an error. [ErrNotHeld] means that the store does not hold the grant. Any other error means that the
	// outcome is unknown.
	//
	// If g.Done is not empty and the backend sets [Capabilities].Ticks, Release also records g.Done as the last tick of
	// g.Key. It records the tick in the same step as the release. It records nothing if it returns [ErrNotHeld].
	//
	// If g.Token is zero, Release compares only the key and the nonce. With a zero token, Release may return
	// [ErrNotHeld] for a grant that was released before. If the reply to an acquire was lost, the engine does not know
	// the token of a grant. It then calls Release with a zero token.
	Release(ctx context.Context, g Grant) error

	// Capabilities returns what the backend guarantees. It does no I/O. The zero Capabilities guarantee nothing beyond
	// this contract.
	Capabilities() Capabilities
}

// Request describes the lock to acquire.
type Request struct {
	Key    Key
	Nonce  Nonce         // identifies the acquisition; the same in each of its requests
	TTL    time.Duration // how long the grant lasts without a renewal
	Holder string        // who requests the lock, as a text for people
	Note   string        // what the lock is for, as a text for people

	MinHold       time.Duration // for this long after a grant, the key cannot be granted again, even after a release
	HandoverDelay time.Duration // if the lease expires without a release, the key cannot be granted for this long afterwards

	// Shared requests a share of the key. The shares of one key may exist at the same time, and exclude an exclusive grant.
	// Shares whose time overlaps have the same token, the epoch token: it is larger than the token of every earlier
	// exclusive grant, and smaller than the token of every later one. The epoch token is zero if the store cannot keep
	// one. Package fence rejects such a share. Each share has its own nonce and its own expiry. The engine sets Shared
	// only if the backend has set [Capabilities].Shares. MinHold and HandoverDelay are then zero, and Seal is empty.
	//
	// A waiter for an exclusive grant is not overtaken by readers that come later. A store without a queue keeps this
	// rule by a reservation. If it refuses an exclusive request with Waits set because readers hold the key, it then
	// refuses new shares with the reason [Reserved]. The reservation belongs to the nonce of the request. It ends with the
	// next exclusive grant, with a Release of that nonce and token zero, or [WriterReserve] after the last request of the
	// waiter. The waiter retries before that, and a waiter that gives up sends the Release.
	Shared bool

	// Seal is the token domain of a fence, or empty. A fence keeps a mark for each domain and name, which contains the
	// newest token and nonce. To seal means to raise the mark of Seal and Key.Name to the grant's token and nonce, as
	// Guard.Seal in package fence does. If Seal is set, the backend grants the key and seals it in one atomic step. The
	// engine sets Seal only if the backend has set [Capabilities].SealsAt. The step waits for open transactions that
	// have locked the mark. If that takes too long, the backend undoes the step and returns a [*Held] with the reason
	// [Draining].
	Seal string

	// Waiting reports that the store refused an earlier request. The earlier request came from this acquisition, or
	// from the previous first waiter for the key in this process. If reads are cheaper than writes in the store, the
	// backend can read the lock before it writes. What Acquire returns does not depend on Waiting.
	Waiting bool

	// Waits reports that after a refusal the engine subscribes with [Notifier] and retries later.
	Waits bool
}

// WriterReserve is how long a store without a queue refuses shares after the last request of a waiter for an exclusive
// grant. A waiter retries after 1.5 s at most.
const WriterReserve = 3 * time.Second

// Grant is one acquired lock.
type Grant struct {
	Key   Key
	Nonce Nonce
	Token Token

	TTL           time.Duration // the granted TTL; renewals request the same TTL
	MinHold       time.Duration // the requested minimum hold
	HandoverDelay time.Duration // the requested hand-over delay

	// Shared reports that the grant is a share, as Request.Shared requested. Renew and Release of a share concern no other
	// share of the key. Until the key has a newer token, releasing a share returns no error, even if the share has
	// already ended.
	Shared bool

	// Sealed reports that the grant also raised the fence mark, as Request.Seal requested. If Sealed is false,
	// package fence seals in a separate transaction.
	Sealed bool

	// Done is a tick: a text of at most 128 printable ASCII characters that identifies one occasion of a schedule. In a
	// grant that Acquire or Await returned, it is the last tick that a release of Key recorded, or "". In a grant for
	// Release, it is the tick to record, or "" to leave the recorded tick as it is. Renew and HandOver ignore it. Only a
	// backend with [Capabilities].Ticks keeps ticks.
	Done string

	// Session is set if the grant ends with a connection and not by the store's clock. It is a context that ends when the
	// backend knows that the connection is gone or no longer belongs to the grant. The cause of the context says why.
	// Otherwise Session is nil. Each method that makes such a grant sets it. Renew and Release
	// ignore it.
	//
	// Renew of such a grant confirms that the connection still exists. A holder trusts its lease for the TTL, less a
	// margin, after the last such confirmation. The store does not end the grant when the TTL is over, so the engine
	// calls Release after the trust has ended.
	Session context.Context
}

// Outcome is the result of renewing one grant.
type Outcome uint8

const (
	// Unknown: the store did not report the outcome. The engine retries until the grant's deadline.
	Unknown Outcome = iota
	// Renewed: the grant's full TTL started again after the request was sent.
	Renewed
	// Lost: the store no longer holds this grant. The grant expired, an operator ended it, or the key was granted
	// again.
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
