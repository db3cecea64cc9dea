// Package model has two models of the protocol, and a search that visits every state of them. The models are
// the executable specification of the protocol. The tests state what holds in all states. They also show
// which part of the protocol each promise needs: without that part, the search finds a shortest path to a
// violation. The tests name the invariants:
//
//   - S4: at most one process trusts its lease.
//   - S5: tokens rise in the order of the writes.
//   - S5': each write replaces the value that its writer has read.
//
// # The fence
//
// [Fence] has no clock. A lease expires at any moment, and its holder never notices. Its requests arrive at
// any later time and in any order, and a seal may arrive several times. A client reads a value and replaces
// it in a transaction, whose check and commit are two steps. The lease store may fail over and lose its last
// grant. The resource loses nothing. A process that acquires again is another client, because nothing that it
// remembers helps it.
//
// A claim lets the resource make the token if the lease store has none. Its steps run in the transaction of
// the claim, and the lease is proven between them. The store may exclude other holders or not.
//
// A transaction consists of its check, the locks until its commit, and the commit. The model does not cover
// what a transaction sees at each isolation level. Package fence tests that on real databases. A write
// arrives once. A caller that repeats a write of unknown outcome needs an idempotent write, because a fence
// does not help.
//
// # The lease
//
// [Lease] has clocks that tick together, and a network that delays and loses messages. It has retries of an
// acquire, renewals, releases, and a replica. The replica lags by any number of writes and takes over any
// number of times. A process may start again with another nonce at any time. The model stores the remaining
// times, so the search covers runs of any length.
//
// The model leaves out:
//
//   - Clocks with different rates. The margin covers a limited difference.
//   - An old primary that still grants after its failover. No client can repair that.
//   - A third process.
//   - Requests of an acquisition that reach the store after its process has started again.
//   - Minimum holds and hand-over delays, which only make a name unavailable for longer.
//   - Times shorter than a tick.
//
// Exclusion does not depend on the token, so this model has none.
package model
