// Package simulate tests the engine in virtual time. It tries every combination of slow, late,
// lost and refused requests for the first requests of a run, and random combinations for longer runs.
// A checker compares the true state of the store with the results that each process received.
// docs/torture/simulation.md explains how to make more runs.
package simulate
