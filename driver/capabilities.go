package driver

import (
	"fmt"
	"time"
)

// Capabilities is what a backend promises beyond the contract. The zero value promises nothing.
type Capabilities struct {
	// Backend is a short name for people, such as "sqllock/postgres".
	Backend string
	// Token is how far tokens can be relied on.
	Token TokenQuality
	// MonotonicExpiry says that the store times leases by a clock that is neither set nor slewed.
	// The engine then needs a smaller margin.
	MonotonicExpiry bool
	// MaxTTL is the longest TTL that the backend grants; zero: it has no limit of its own. The engine refuses a longer one
	// before it asks the store.
	MaxTTL time.Duration
	// Fair says that the store grants in the order of the requests.
	Fair bool
	// Wakes says that waiters in other processes are woken: that the backend is a [Notifier] whose
	// wake-ups reach them, or an [Awaiter].
	Wakes bool
	// Sessions says that grants end with a connection and not with the TTL: the backend is a
	// [Session]. A holder that is cut off or stopped keeps its names for as long as the store
	// believes in its connection. Nothing keeps a name closed afterwards, so the engine refuses MinHold and HandoverDelay.
	Sessions bool
	// Shares says that the grants of one name stand beside one another: the backend is the shared form of another.
	Shares bool
	// Anonymous says that the store keeps of a grant only that it is held, and by which connection: a
	// refusal and an inspection name that, and not the holder, the note and the token that were given.
	Anonymous bool
	// Forgets says that the store keeps nothing of a lock that nobody holds: an inspector does not tell
	// one that was released, has expired or was ended by force from one that was never granted.
	Forgets bool
	// Pauses says that [Operator.Pause] works.
	Pauses bool
	// SealsAt is where the backend raises the marks that [Request].Seal asks for; the zero Place if it raises none. The
	// engine asks for it where the guard's marks are at the same place.
	SealsAt Place
	// Invalid is why the backend cannot work as it was made, such as an option; nil if it can. New fails with it.
	Invalid error
	// Warnings are what weakens these promises in the way the store is set up, in sentences for an operator that
	// say what to change. A backend that has to ask the store knows them after its first call.
	Warnings []string
}

// TokenQuality says how far the tokens of a backend can be relied on.
type TokenQuality uint8

const (
	// NoToken: tokens are not ordered, or there are none.
	NoToken TokenQuality = iota
	// BestEffortToken: tokens rise unless the store loses acknowledged writes.
	BestEffortToken
	// LinearizableToken: tokens rise strictly in the order of the grants.
	LinearizableToken
)

// String names the quality.
func (q TokenQuality) String() string {
	switch q {
	case NoToken:
		return "none"
	case BestEffortToken:
		return "best effort"
	case LinearizableToken:
		return "linearizable"
	default:
		return fmt.Sprintf("TokenQuality(%d)", uint8(q))
	}
}

// Place is where locks and the marks beside them are kept. Two places are one if they are equal.
type Place struct {
	DB    any    // the handle of the database, such as a *sql.DB or a *pgxpool.Pool
	Table string // the lease table's name as it was given
}
