// Package driver is the contract between the engine in package rowlock and a store that keeps locks.
// The author of a backend implements it.
//
// Each method of a [Backend] makes one attempt. Package rowlock does everything that is the same for all stores:
// waiting, renewal, deadlines, retries with jitter, the queue of waiters in a process, releasing grants of unknown
// outcome, and tracing. A backend implements optional interfaces for what only some stores can do:
// [Awaiter] or [Notifier] for waiting, [HandOverer], [Batcher], [Operator], and [Idler].
//
// # The rules
//
// Every method makes one attempt, never waits for another holder, and returns soon after its context ends.
// A backend is safe for concurrent use. It closes the connections that it opened itself, and never closes a connection
// or pool that its caller opened.
//
// The store measures time. A backend computes the expiry inside the request, from the store's clock. It returns
// durations to the engine, never instants, so that the engine never compares the store's clock with its own.
//
// A key, a nonce and a token identify a grant. The nonce is random for each acquisition, and the engine knows it before
// it sends the request. So the store recognises an acquire that is sent twice. It answers the second request with the
// same grant, and starts its TTL again. Tokens of one key rise strictly in the order of the grants, through release,
// expiry, pruning, forced release and restart. A renewal never revives an expired grant and never creates one.
// A release never deletes the key's last token, because the next token must be larger.
//
// # The states of a request
//
// The engine draws a nonce and sends a request. Each arrow is one answer of the backend, or one decision of
// the engine:
//
//	asked ──┬──> granted
//	        ├──> held ─────────> waits, then retries with the same nonce
//	        ├──> not applied ──> retries; fails if the error is permanent
//	        └──> unknown ──────> retries with the same nonce, or gives up: Release by nonce, with token zero
//
//	granted ──┬──> renewed ────> granted, with its expiry counted anew
//	          ├──> unknown ────> retries, until the holder's own deadline makes it lost
//	          ├──> lost          expired, ended by an operator, or granted to another holder
//	          └──> released      if the outcome is unknown: retries, until the lease has expired
//
// Held, lost, unknown and not applied are four different answers. A backend that returns the wrong one breaks a
// guarantee.
//
// # Errors
//
// [Backend.Acquire] returns one of four results:
//
//   - A grant.
//   - A [*Held], if the key cannot be granted now, most often because another holder has it.
//   - An error made by [NotApplied] or [Permanent], if the request certainly had no effect.
//   - Any other error, if the store may have applied the request or may still apply it. The engine then retries with
//     the same nonce. If it gives up, it calls Release with the nonce and token zero.
//
// Package locktest tests whether a backend keeps these rules. The page docs/backend.md builds a small backend step by
// step. Its code is in examples/backend.
package driver
