// Package simulate tests the engine in virtual time. It runs every order of requests, replies and timers up to a depth,
// and random orders. A checker compares the true state of the store with the results that each process received.
// docs/torture/simulation.md explains how to run more of them.
package simulate
