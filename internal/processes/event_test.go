//go:build unix

package processes_test

import (
	"time"

	"github.com/rowlock/rowlock"
)

// event is one line that a worker writes to its standard output. The worker writes the line with one system call.
// So the line arrives even if the worker dies immediately afterwards.
type event struct {
	What   string // one of the words in the constants below
	Token  rowlock.Token
	At     int64  // the time as Unix time in nanoseconds
	Last   int64  // the last value of the chain, as the worker knows it
	Detail string // the text of an error
}

// These are the words for events of all workers.
const (
	started  = "started" // it handles SIGTERM
	asked    = "asked"
	granted  = "granted"
	released = "released"

	unavailable = "unavailable" // the store did not answer the worker's request for the lock
	stale       = "stale"       // the database rejected the worker's write because of its token
	failed      = "failed"      // an unexpected error
)

// These are the words for events of workers that count.
const (
	trusted = "trusted" // the worker's lease was valid at that time
	counted = "counted"
)

// These are the words for events of workers that write a chain.
const (
	ready  = "ready"  // the worker has read the chain, and will write
	inside = "inside" // the worker's transaction has passed the check, and is not committed yet
	wrote  = "wrote"

	lost     = "lost"     // the lease rejected the transaction before any request to the database
	undone   = "undone"   // the database rolled the transaction back and asks for a retry
	broken   = "broken"   // the transaction failed for another reason; its outcome may be unknown
	unsealed = "unsealed" // the worker acquired the lock, but could not seal in time
)

func now() int64 { return time.Now().UnixNano() }
