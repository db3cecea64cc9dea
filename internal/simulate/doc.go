// Package simulate tests the engine in virtual time. The first requests of a run can be slow, late, lost or refused,
// and the package tries every combination of that. For longer runs it tries random combinations. A checker compares
// the true state of the store with the results that each process received. docs/torture/simulation.md explains how to
// make more runs.
package simulate
