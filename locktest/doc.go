// Package locktest is the conformance suite for backends of rowlock. It runs against a real store
// and needs no test library.
//
// A backend's author writes a [Harness], which opens independent clients of one store, and calls
// [Run] from a test:
//
//	func TestConformance(t *testing.T) {
//		locktest.Run(t, func(tb testing.TB) locktest.Harness { return newHarness(tb) })
//	}
//
// Every case checks one promise, first by calling the backend directly, then through
// rowlock.New(backend). A case that fails prints the promise that is broken. [Check] runs the same
// cases outside of go test, [Bench] measures.
//
// What the suite cannot bring about by itself (a client that dies, a network that is cut, a reply
// that is lost, a lease that expires now) are optional interfaces of the harness: [Crasher],
// [Partitioner], [ReplyDropper], [Expirer]; a shared form of the backend is [Sharer]. Without them the
// cases that need them are skipped; only expiry is waited for instead. A backend that does not keep a
// promise, and says so in its documentation, has its harness say so too: [Exempter].
//
// "Did not get it" is accepted only as a [*driver.Held] or a rowlock.ErrHeld. Each case uses names
// of its own and ends within a minute.
package locktest
