// Package simulate has tests of the engine in virtual time: every order in which requests, replies and timers can come, up to
// a depth, and random ones. A checker judges what truly happened in the store beside what each process was told.
// docs/torture/simulation.md says how to run more of them.
package simulate
