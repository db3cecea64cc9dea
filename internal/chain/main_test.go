//go:build unix

// Package chain_test proves the fence with real processes on real databases: holders of a lock read
// the end of a chain, work, and write the next link in a later transaction, while they are stopped
// between the two for longer than their lease, evicted and killed. The chain must not break; without
// the fence it must.
package chain_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/leaks"
)

const (
	ttl     = time.Second
	workers = 8
	names   = 2
)

// job is what a worker process is told, in its environment.
type job struct {
	Store, DSN string
	Worker     int  // its remainder by names is the chain that it works on
	Fenced     bool // else it is the control
}

// event is one line that a worker writes to its standard output.
type event struct {
	What   string // one of the words below
	Token  rowlock.Token
	Last   int64  // the end of the chain as the worker knows it
	Detail string // of an error
}

// What a worker tells.
const (
	started = "started" // and may be told to stop
	granted = "granted"
	ready   = "ready"  // it has read, and will write
	inside  = "inside" // its transaction is checked and not yet committed
	wrote   = "wrote"
	idle    = "idle" // it has released

	stale       = "stale"       // the database refused it
	lost        = "lost"        // it was refused before the database was asked: the lease knew
	undone      = "undone"      // the database wants the transaction run again
	broken      = "broken"      // the transaction ended otherwise: its outcome may be unknown
	unsealed    = "unsealed"    // it was granted the lock, and could not seal in time
	unavailable = "unavailable" // it could not ask for the lock
	failed      = "failed"      // what nothing of this explains
)

const jobVariable = "ROWLOCK_TEST_JOB"

func TestMain(m *testing.M) {
	if text := os.Getenv(jobVariable); text != "" {
		var j job
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			panic(err)
		}
		j.work()
		return
	}
	leaks.Main(m)
}
