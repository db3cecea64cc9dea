// Package model has four models of the protocol, and a search that visits every state of them. The models are the
// executable specification of the protocol. The tests check invariants in all states. They also show which parts of
// the protocol each invariant needs. If a test leaves out such a part, the search finds a shortest path to a
// violation. The tests use these names for the invariants:
//
//   - S4: at most one process trusts its lease.
//   - S5: tokens rise in the order of the writes.
//   - S5': each write replaces the value that its writer has read.
//
// # The fence
//
// [Fence] has no clock. A lease expires at any moment, and its holder never notices. The holder's requests arrive at
// any later time and in any order, and a seal may arrive several times. A client reads a value and replaces it in a
// transaction, whose check and commit are two steps. The lease store may fail over and lose its last grant. The
// resource does not lose writes. If a process acquires the lease a second time, the model treats it as another client.
// That is sufficient, because the process uses nothing that it remembers of the first lease.
//
// If the lease store has no tokens, a claim lets the resource make the token. The steps of a claim run in one
// transaction of the resource. Between two of these steps, the lease store confirms the lease. In some models the lease
// store does not exclude other holders.
//
// A transaction of the model has a check and a commit, and holds its locks in between.
// The model does not cover the isolation levels of databases. Package fence tests these on real databases.
// In the model, a write arrives once. A fence does not protect against a write that the caller repeats
// because its outcome was unknown. Such a write must be idempotent.
//
// # The lease
//
// [Lease] models clocks that tick at the same time, and a network that delays and loses messages. Processes send and
// repeat acquire requests, and they renew and release their leases. A replica lags behind the store by any number of
// writes. The store fails over to the replica any number of times. A process may restart at any time and use another
// nonce. The model stores the remaining times, so the search covers runs of any length.
//
// The model of the lease leaves out:
//
//   - Clocks with different rates. The margin covers a limited difference.
//   - An old primary that still grants after a failover. No client can protect against that.
//   - A third process.
//   - A process that crashes and starts again while requests of its earlier acquisition are still in transit.
//   - Minimum holds and hand-over delays. They only delay the next grant.
//   - Times shorter than a tick.
//
// Exclusion does not depend on tokens, so the model of the lease has none.
//
// # Readers and writers
//
// [Shares] models two readers and two writers, in the store and at the fence. It has no clock, as [Fence] has none. A
// reader reads twice under one lease. The operator makes at most one forced release. The order in which waiters are
// served is no part of the model.
//
// # Tokens of a session lock
//
// [Mint] models the tokens that package mysqlock makes from a counter in the memory of a server. Servers start again
// with the clock set back, fail over, and get a row from a backup. A backup is restored only together with a new start of
// the server.
package model
