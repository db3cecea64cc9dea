//go:build unix

package processes_test

import (
	"time"

	"github.com/rowlock/rowlock"
)

// event is one line that a worker writes to its standard output. It is written with one write, which survives the writer.
type event struct {
	What   string // one of the words below
	Token  rowlock.Token
	At     int64  // by the clock of the machine, in nanoseconds
	Last   int64  // the end of the chain as the worker knows it
	Detail string // of an error
}

// What a worker of either program reports.
const (
	started  = "started" // it handles SIGTERM
	asked    = "asked"
	granted  = "granted"
	released = "released"

	unavailable = "unavailable" // the store did not answer its request for the lock
	stale       = "stale"       // the database rejected its write
	failed      = "failed"      // an error that nothing here explains
)

// What a worker that counts reports.
const (
	trusted = "trusted" // its lease was valid at that time
	counted = "counted"
)

// What a worker that writes a chain reports.
const (
	ready  = "ready"  // it has read, and will write
	inside = "inside" // its transaction is checked and not yet committed
	wrote  = "wrote"

	lost     = "lost"     // the lease rejected the transaction before the database was asked
	undone   = "undone"   // the database wants the transaction run again
	broken   = "broken"   // the transaction failed otherwise, and its outcome may be unknown
	unsealed = "unsealed" // it was granted the lock, and could not seal in time
)

func now() int64 { return time.Now().UnixNano() }
