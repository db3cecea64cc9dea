//go:build linux

package main

import (
	"time"
)

// job is a worker process's configuration, which it receives on its command line.
type job struct {
	Store  string   // by its name in the table of stores
	Nodes  []string // host:port of each of the store's nodes, as this worker reaches them
	Data   string   // the file of the data, where they are not in the store
	Folder string   // of the logs
	Slot   int      // its place in the fleet, which decides its chain
	Worker int      // each process has a number of its own, from 1
	Seed   uint64
	TTL    time.Duration
	Mutant string        // a defect that it has; mostly none
	Pace   time.Duration // mean pause between two turns of a loop
	Dense  bool
}

// The loops of each worker, by the names of their locks. Every name except the last two is also a chain.
const (
	chains = 2 // chain-0, chain-1: read, work, write behind the fence
	churns = 3 // churn-0…: acquire and release
)

const (
	pairName    = "pair"    // one lock, two resources, one transaction
	controlName = "control" // a chain without a fence
	relayName   = "relay"   // all wait for it
)

// Resources of the pair.
const left, right = "left", "right"
