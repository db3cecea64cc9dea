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

// Each worker runs these loops, which are named after their locks. Only the churns and the relay have no chain.
const (
	chains = 2 // the names chain-0 and chain-1: read, work, and write behind the fence
	churns = 3 // the names churn-0 and so on: acquire and release only
)

const (
	pairName    = "pair"    // one lock, with two resources in one transaction
	controlName = "control" // a chain without a fence
	relayName   = "relay"   // all workers wait for this lock
)

// togetherNames are the names that calls of AcquireAll acquire together. Other loops acquire one of them.
var togetherNames = []string{"together-0", "together-1", "together-2"}

// slotNames are the names of the slots. A call of AcquireAny acquires one of them. There are more loops than slots.
var slotNames = rowlock.Slots("slot", slots)

const (
	slots     = 3
	onceName  = "once" // a job that runs once for each tick, and a chain
	tickEvery = 500 * time.Millisecond
)

// left and right are the two resources of the pair.
const left, right = "left", "right"
