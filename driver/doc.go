// Package driver is what a backend author writes: the contract between the engine in package
// rowlock and a store that keeps locks.
//
// A [Backend] makes one attempt of one thing. Everything that all backends need is written once,
// in package rowlock: waiting, renewal, deadlines, retries with jitter, the local queue, taking
// back grants of unknown outcome, tracing. What only some stores can do are six optional
// interfaces: [Awaiter] or [Notifier] for waiting, [Session] where a grant
// ends with a connection, [HandOverer], [Operator], and [Idler].
//
// # The rules
//
// Every method makes one attempt, never waits for another holder, and ends soon after its context
// does. A backend is safe for concurrent use. It opens nothing at run time that it does not close,
// and it never closes what its caller opened.
//
// Time is the store's. A backend computes expiry from the store's clock inside the request, and
// hands durations to the engine, never instants: the engine compares them with no clock but its own.
//
// A grant is identified by its key, its nonce and its token. The nonce is random per acquisition
// and known before the request is sent, so an acquire that is sent twice is recognised: the store
// answers the second with the same grant, its expiry counted anew. Tokens of one key rise strictly
// in the order of the grants, for ever: through release, expiry, pruning, forced release and
// restart. Renewal never revives an expired grant and never creates one. Release never deletes
// what the next token must be larger than.
//
// # The states of a request
//
// The engine draws a nonce and asks. Every arrow is one answer of the backend, or one decision of the engine:
//
//	asked ──┬──> granted
//	        ├──> held ─────────> waits, then asks again with the same nonce
//	        ├──> not applied ──> asks again; if it is permanent, fails
//	        └──> unknown ──────> asks again with the same nonce, or takes the grant back: Release by nonce, with token zero
//
//	granted ──┬──> renewed ────> granted, with its expiry counted anew
//	          ├──> unknown ────> asks again, until the holder's own deadline makes it lost
//	          ├──> lost          expired, ended by an operator, or granted to another
//	          └──> released      an outcome that is unknown: asks again, until the lease has expired
//
// Held, lost, unknown and not applied are four different answers. A backend that takes one for another breaks a promise.
//
// # Errors
//
// [Backend.Acquire] answers one of four things: a grant; a [*Held], when somebody else has the
// key; an error made by [NotApplied] or [Permanent], when the request certainly had no effect; or
// any other error, which means that the request may have been applied, or may yet be. The engine
// then asks again with the same nonce, and takes the grant back if it gives up.
//
// Package locktest checks all of this against any backend. The page docs/backend.md builds a small one step by step; its
// code is in examples/backend.
package driver
