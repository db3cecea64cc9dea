// Package history stores the results of a torture run: the log of each process, the store's audit of the locks, and the ledger of
// the data. The checker reads nothing else.
package history

import "strings"

// Kind is the type of an event. For each action, a worker records one event before it sends the request and one after it has
// received the answer. If the worker is killed between the two, the first event remains.
type Kind string

const (
	Start    Kind = "start"    // a worker starts; Detail is Ticks if the backend keeps ticks, and Shared says whether it grants shared locks
	Acquire  Kind = "acquire"  // before the request
	Granted  Kind = "granted"  // Until is the end of trust
	Refused  Kind = "refused"  // Outcome: the reason
	Renewed  Kind = "renewed"  // Until is the new end of trust
	Lost     Kind = "lost"     // the library reported a loss by itself; Outcome is how the lease was lost
	Seen     Kind = "seen"     // the worker checked its lease after At; Outcome is Trusted or Ended
	Release  Kind = "release"  // before the request
	Released Kind = "released" // Outcome: the answer
	Read     Kind = "read"     // Value is the last value of the chain
	Write    Kind = "write"    // the worker will write Value, which must follow Read in the chain
	Wrote    Kind = "wrote"    // Outcome tells whether Value was written
	Whole    Kind = "whole"    // after At, the call Try reported that it holds all of its names

	// The supervisor writes the following events.
	Fault  Kind = "fault"  // Outcome is the kind of fault, End is when the fault ended, Victim is the worker that was hit, or 0; see also Hit
	Death  Kind = "death"  // the worker's process has ended
	Evict  Kind = "evict"  // a live lease was released by force before End; Outcome is OK or an error
	Healed Kind = "healed" // no fault happens after this event
	Pruned Kind = "pruned" // rows of free locks were deleted between At and End, or may have been
	Empty  Kind = "empty"  // after the last worker has ended; Outcome is OK if nobody holds Name, and Held otherwise
)

// These are the values of Outcome.
const (
	OK          = "ok"
	Trusted     = "trusted"
	Ended       = "ended"
	Held        = "held"
	Unknown     = "unknown"
	Unavailable = "unavailable"
	Unsealed    = "unsealed" // the lock was granted, and then released because the data could not be sealed
	Cancelled   = "cancelled"
	LeaseLost   = "lost"      // the library rejected the write before it sent a request to the database, because the lease was lost
	Stale       = "stale"     // the database rejected the write
	Undone      = "undone"    // the write was certainly not applied
	Failed      = "failed"    // the result does not fit any other outcome
	Done        = "done"      // the tick was already done, so the job did not run
	Withdrawn   = "withdrawn" // the call acquired another of its names, and needs only one
)

// Board is a lock of readers and writers. The store's audit shows the epochs of its readers, but not their leases.
const Board = "board"

// Ticks is the Detail of the event Start if the backend keeps ticks.
const Ticks = "ticks"

// TryOf returns the value of the field Try for one name of a call. All names of a call have the same holder in the
// store. If the call has several names, that holder ends with a slash.
func TryOf(holder, name string) string {
	if strings.HasSuffix(holder, "/") {
		return holder + name
	}
	return holder
}

// CallOf returns the holder of a call. The parameter try is the value of the field Try for one name of the call. If the
// call has only one name, its holder is equal to try.
func CallOf(try string) string {
	if i := strings.IndexByte(try, '/'); i >= 0 {
		return try[:i+1]
	}
	return try
}

// Event is one line of a log. Instants are nanoseconds of CLOCK_MONOTONIC, a clock that all processes of a machine share. Wall is
// the wall clock at the same moment, for comparing with the store's clock.
type Event struct {
	At     int64  `json:"at"`
	Wall   int64  `json:"wall,omitempty"`
	End    int64  `json:"end,omitempty"`
	Worker int    `json:"w,omitempty"` // each process has its own number, from 1
	Kind   Kind   `json:"k"`
	Try    string `json:"try,omitempty"` // the acquisition, by the name of its holder in the store
	Name   string `json:"n,omitempty"`   // the name of the lock
	Token  int64  `json:"t,omitempty"`
	Nonce  string `json:"x,omitempty"`
	Until  int64  `json:"u,omitempty"` // the end of trust; never later than the library reports
	// Late is the time between the end of trust and the last report of the lease that it was held. If the library is
	// correct, Late is at most zero.
	Late     int64  `json:"late,omitempty"`
	Victim   int    `json:"victim,omitempty"`
	Hit      bool   `json:"hit,omitempty"` // true if the fault hit the worker or server that it was meant for
	Resource string `json:"r,omitempty"`
	Read     int64  `json:"rv,omitempty"`
	Value    int64  `json:"v,omitempty"`
	Shared   bool   `json:"sh,omitempty"`   // the lease is shared
	Tick     int64  `json:"tick,omitempty"` // the tick of a call of Once, in milliseconds since 1970
	Outcome  string `json:"o,omitempty"`
	Detail   string `json:"d,omitempty"`
}

// UntilWall is the end of trust on the wall clock.
func (e Event) UntilWall() int64 { return e.Wall + e.Until - e.At }
