package driver

import (
	"fmt"
	"time"
)

// Capabilities describes what a backend guarantees beyond the contract of [Backend]. Its zero value promises no such
// guarantee.
type Capabilities struct {
	// Backend is a short name for people to read, such as "sqllock/postgres".
	Backend string
	// Token says how reliable the backend's tokens are.
	Token TokenQuality
	// MonotonicExpiry reports that the store measures leases with a clock that is never set or slewed. The
	// engine then uses a smaller margin.
	MonotonicExpiry bool
	// MaxTTL is the longest TTL that the backend grants, or zero if the backend has no limit of its own.
	// If a caller requests a longer TTL, the engine returns an error and sends no request.
	MaxTTL time.Duration
	// Fair reports that the store grants a key to waiters in the order of their requests.
	Fair bool
	// Wakes reports that a release notifies waiters in other processes. The backend is then an [Awaiter],
	// or a [Notifier] whose notifications reach other processes.
	Wakes bool
	// Sessions reports that a grant ends with a connection and not with the TTL. Each [Grant] then has its Session.
	// A holder that is suspended or has lost its network keeps its locks for as long as the store considers its
	// connection alive. The store cannot keep a lock unavailable after its grant has ended, so the engine rejects
	// MinHold and HandoverDelay.
	Sessions bool
	// Shares reports that the backend grants requests with [Request].Shared. Otherwise the engine rejects the option
	// Shared.
	Shares bool
	// Anonymous reports that the store records only which connection holds a grant. A [Held] and a [Status] then name
	// the connection, but not the holder, the note or the token.
	Anonymous bool
	// Forgets reports that the store keeps no record of a lock that nobody holds. [Operator.Inspect] then returns the
	// same for a lock that was held before as for a lock that was never granted.
	Forgets bool
	// Pauses reports that [Operator.Pause] works.
	Pauses bool
	// Ticks reports that the backend keeps the tick of [Grant].Done. The tick outlives releases, expiry, forced release,
	// pauses and restarts, until the name is pruned.
	Ticks bool
	// SealsAt says in which database the backend raises fence marks when the field Seal of a [Request] is set. It is the
	// zero Place if the backend raises no marks. The engine sets Request.Seal only if the marks of the fence are stored at
	// an equal Place.
	SealsAt Place
	// Invalid is the error that prevents the backend from working with its configuration, for example with one of its
	// options. It is nil if the backend can work. If Invalid is set, rowlock.New returns it.
	Invalid error
	// Warnings name the settings of the store that weaken these guarantees. Each warning is a sentence that tells an
	// operator what to change. If a backend must query the store for its settings, it reports them only after its first
	// request.
	Warnings []string
}

// TokenQuality says how reliable the tokens of a backend are.
type TokenQuality uint8

const (
	// NoToken: the backend grants no tokens, or its tokens have no order.
	NoToken TokenQuality = iota
	// BestEffortToken: tokens rise unless the store loses writes that it has acknowledged.
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

// Place says where locks and their fence marks are stored. If the locks and the fence marks have equal Places,
// one transaction can grant a lock and raise its mark.
type Place struct {
	DB    any    // the database handle, such as a *sql.DB or a *pgxpool.Pool
	Table string // the name of the lease table, exactly as the caller wrote it
}
