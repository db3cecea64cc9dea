package driver

import (
	"fmt"
	"time"
)

// Capabilities describes what a backend guarantees beyond the contract. The zero value guarantees nothing.
type Capabilities struct {
	// Backend is a short name for people to read, such as "sqllock/postgres".
	Backend string
	// Token says how reliable the backend's tokens are.
	Token TokenQuality
	// MonotonicExpiry reports that the store measures leases with a clock that is never set or slewed. The
	// engine then uses a smaller margin.
	MonotonicExpiry bool
	// MaxTTL is the longest TTL that the backend grants, or zero if the backend has no limit of its own. The engine rejects a
	// longer TTL without sending a request.
	MaxTTL time.Duration
	// Fair reports that the store grants in the order of the requests.
	Fair bool
	// Wakes reports that waiters in other processes are notified. The backend is then an [Awaiter], or a
	// [Notifier] whose notifications reach other processes.
	Wakes bool
	// Sessions reports that a grant ends with a connection and not with the TTL. The backend is then a
	// [Session]. A holder that is cut off or suspended keeps its names for as long as the store considers its
	// connection alive. The store cannot keep a name unavailable afterwards, so the engine rejects MinHold
	// and HandoverDelay.
	Sessions bool
	// Shares reports that several grants of one name may exist at the same time, because the backend is the shared mode of
	// another backend.
	Shares bool
	// Anonymous reports that the store records only that a grant exists and on which connection. A refusal
	// and an inspection then name the connection, but not the holder, the note or the token.
	Anonymous bool
	// Forgets reports that the store records nothing of a lock that nobody holds. An inspection then cannot
	// tell a lock that was released, has expired or was ended by force from a lock that was never granted.
	Forgets bool
	// Pauses reports that [Operator.Pause] works.
	Pauses bool
	// SealsAt says where the backend raises the marks that [Request].Seal names. It is the zero Place if the backend raises no
	// marks. The engine sets Seal if the guard's marks are at the same place.
	SealsAt Place
	// Invalid says why the backend cannot work as it was configured, for example because of an option. It is nil if the backend
	// can work. Otherwise New fails with this error.
	Invalid error
	// Warnings name the settings of the store that weaken these guarantees. Each warning is a sentence that tells an operator
	// what to change. A backend that must query the store for its warnings returns them after its first call.
	Warnings []string
}

// TokenQuality says how reliable the tokens of a backend are.
type TokenQuality uint8

const (
	// NoToken: tokens are not ordered, or there are none.
	NoToken TokenQuality = iota
	// BestEffortToken: tokens rise unless the store loses acknowledged writes.
	BestEffortToken
	// LinearizableToken: tokens rise strictly in the order of the grants.
	LinearizableToken
)

// String returns the quality in words.
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

// Place says where locks and their fence marks are stored. Two equal values mean the same place.
type Place struct {
	DB    any    // the database handle, such as a *sql.DB or a *pgxpool.Pool
	Table string // the name of the lease table, as the caller gave it
}
