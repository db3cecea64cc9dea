//go:build unix

package processes_test

import (
	"time"

	"github.com/rowlock/rowlock"
)

// event is one line that a worker writes to its standard output. The worker writes the line with one system call.
// So the line arrives even if the worker dies immediately afterwards.
type event struct {
	What   string // one of the words below
	Token  rowlock.Token
	At     int64  // Unix time of this machine, in nanoseconds
	Last   int64  // the end of the chain as the worker knows it
	Detail string // the text of an error
}

// What a worker of either program reports.
const (
	started  = "started" // it handles SIGTERM
	asked    = "asked"
	granted  = "granted"
	released = "released"

	unavailable = "unavailable" // the store did not answer its request for the lock
	stale       = "stale"       // the database rejected its write
	failed      = "failed"      // an unexpected error
)

// What a worker that counts reports.
const (
	trusted = "trusted" // its lease was valid at that time
	counted = "counted"
)

// What a worker that writes a chain reports.
const (
	ready  = "ready"  // it has read the chain, and will write
	inside = "inside" // its transaction has passed the check, and is not yet committed
	wrote  = "wrote"

	lost     = "lost"     // the lease rejected the transaction before any request to the database
	undone   = "undone"   // the database asks for a retry of the transaction
	broken   = "broken"   // the transaction failed for another reason; its outcome may be unknown
	unsealed = "unsealed" // it acquired the lock, but could not seal in time
)

func now() int64 { return time.Now().UnixNano() }
