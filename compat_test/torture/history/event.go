// Package history stores what a run of the torture leaves behind: the log of each process, the store's audit of the locks, and the
// data's ledger. The checker reads nothing else.
package history

// Kind says what an event is of. What a worker does has one event before it is sent and one after it was answered, so
// that a worker that is killed between the two leaves the first.
type Kind string

const (
	Start    Kind = "start"    // of a worker; Detail says what the backend claims
	Acquire  Kind = "acquire"  // before it is asked
	Granted  Kind = "granted"  // Until: of the trust
	Refused  Kind = "refused"  // Outcome: why
	Renewed  Kind = "renewed"  // Until
	Lost     Kind = "lost"     // the library reported the loss unasked. Outcome: how
	Seen     Kind = "seen"     // the worker checked its lease, after At. Outcome: Trusted or Ended
	Release  Kind = "release"  // before it is sent
	Released Kind = "released" // Outcome
	Read     Kind = "read"     // Value: the end of the chain
	Write    Kind = "write"    // before it begins; Value is to follow Read
	Wrote    Kind = "wrote"    // Outcome: what became of Value

	// Of the supervisor.
	Fault  Kind = "fault"  // Outcome: its kind. End: when it ended. Victim: the worker it hit, or 0. Hit
	Death  Kind = "death"  // the worker is gone
	Evict  Kind = "evict"  // a live lease was released by force. End. Outcome: OK or an error
	Healed Kind = "healed" // from here on nothing is disturbed
)

// Outcomes.
const (
	OK          = "ok"
	Trusted     = "trusted"
	Ended       = "ended"
	Held        = "held"
	Unknown     = "unknown"
	Unavailable = "unavailable"
	Unsealed    = "unsealed" // granted, and released because the data could not be sealed
	Cancelled   = "cancelled"
	LeaseLost   = "lost"   // of a write: the lease knew, the database was not asked
	Stale       = "stale"  // of a write: the database refused it
	Undone      = "undone" // of a write: certainly not applied
	Failed      = "failed" // what nothing of this explains
)

// Event is one line of a log. Instants are nanoseconds of CLOCK_MONOTONIC, which is one clock for all processes of a
// machine; Wall is the wall clock at the same moment, for comparing with the store's.
type Event struct {
	At     int64  `json:"at"`
	Wall   int64  `json:"wall,omitempty"`
	End    int64  `json:"end,omitempty"`
	Worker int    `json:"w,omitempty"` // each process has a number of its own, from 1
	Kind   Kind   `json:"k"`
	Try    string `json:"try,omitempty"` // the acquisition, as its holder is called in the store
	Name   string `json:"n,omitempty"`   // of the lock
	Token  int64  `json:"t,omitempty"`
	Nonce  string `json:"x,omitempty"`
	Until  int64  `json:"u,omitempty"` // the end of trust, never too late
	// Late is by how much the end of trust was over when a lease was asked that said it was held. At most zero unless
	// the library is wrong.
	Late     int64  `json:"late,omitempty"`
	Victim   int    `json:"victim,omitempty"`
	Hit      bool   `json:"hit,omitempty"` // it found what it was to disturb
	Resource string `json:"r,omitempty"`
	Read     int64  `json:"rv,omitempty"`
	Value    int64  `json:"v,omitempty"`
	Outcome  string `json:"o,omitempty"`
	Detail   string `json:"d,omitempty"`
}

// UntilWall is the end of trust by the wall clock.
func (e Event) UntilWall() int64 { return e.Wall + e.Until - e.At }
