// Package model holds two models of the protocol, small enough that every state of them can be
// visited, and the search that does so. They are the protocol's executable specification: the tests
// state what holds in all states, and which part of the protocol each promise needs, by a shortest
// way to its violation without that part. The invariants S4, S5 and S5' are in the tests' words:
// at most one believes; tokens rise in the order of the writes; each write replaces what its
// writer has read.
//
// # The fence
//
// [Fence] has no clock: leases expire at any moment, their holders never notice, and what they have
// sent arrives whenever it likes, in any order, seals any number of times. Clients read a value and
// write another in its place, in a transaction whose check and commit are two steps. The lease store
// may fail over and forget its last grant; the resource forgets nothing. A process that acquires
// again is another client, since nothing that it remembers is of use to it.
//
// A claim, by which the resource makes the token for a store that has none, is its steps in the claim's
// transaction, with the proof of the lease in between; the store may exclude or not.
//
// A transaction is its check, the locks until its commit, and the commit. What isolation levels let
// it see in between is not modelled; package fence tests that on real databases. A write arrives
// once: a caller who sends one again without knowing its fate needs an idempotent write, not a fence.
//
// # The lease
//
// [Lease] has clocks that tick together, a network that delays and loses, retries of the same
// acquire, renewals, releases, and a replica that lags by any number of writes and takes over any
// number of times. Processes begin anew with another nonce as often as they like. Times are kept
// as what is left of them, so the search covers runs of any length.
//
// Not modelled are clocks that run at different rates, which is what the margin is for, as far as
// they differ; an old primary that goes on granting after its failover, which no client can repair;
// a third process; requests of an acquisition that reach the store after its process began anew;
// minimum holds and hand-over delays, which only close a name for longer; and anything shorter than
// a tick. Exclusion does not depend on the token, so this model has none.
package model
