//go:build linux

package main

import (
	"time"

	"github.com/rowlock/rowlock"
)

// job is a worker process's configuration, which it receives on its command line.
type job struct {
	Store  string   // the store's name in the table of stores
	Nodes  []string // host:port of each of the store's nodes, as this worker reaches the node
	Data   string   // the path of the file with the data, if the data are not in the store
	Folder string   // the folder for the logs
	Slot   int      // the worker's slot in the fleet, which determines its chain
	Worker int      // each process has its own number, from 1
	Seed   uint64
	TTL    time.Duration
	Mutant string        // the defect that this worker has, if any
	Pace   time.Duration // the mean delay between two runs of a loop
	Dense  bool
}

// Each worker runs the loops below. Each loop acquires locks with the given names. Some loops also append to a chain: a
// list of writes, in which each write records which write the writer had read before. The churn loops and the relay
// loop write nothing.
const (
	// the locks chain-0 and chain-1: the loop reads the chain, works, and appends to the chain with a fenced write
	chains = 2
	churns = 3 // the locks churn-0, churn-1 and churn-2: the loop only acquires and releases
)

const (
	pairName    = "pair"    // one lock, with two resources in one transaction
	controlName = "control" // a chain without a fence
	relayName   = "relay"   // all workers wait for this lock
)

// togetherNames are the names that calls of AcquireAll acquire together. Some loops acquire only one of these names.
var togetherNames = []string{"together-0", "together-1", "together-2"}

// slotNames are the names of the slots. A call of AcquireAny acquires one of them. More loops request a slot than there
// are slots, so some of them must wait.
var slotNames = rowlock.Slots("slot", slots)

const (
	slots     = 3
	onceName  = "once" // the lock of a job that runs once for each tick; the job appends to a chain
	tickEvery = 500 * time.Millisecond
)

// left and right are the two resources of the pair.
const left, right = "left", "right"
