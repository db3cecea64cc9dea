// Package locktest is the conformance suite for backends of rowlock. It runs against a real store and needs
// no test library.
//
// The author of a backend writes a [Harness], which opens independent clients of one store, and calls [Run]
// from a test:
//
//	func TestConformance(t *testing.T) {
//		locktest.Run(t, func(tb testing.TB) locktest.Harness { return newHarness(tb) })
//	}
//
// Each case checks one promise. Some cases call the backend directly, and others use it through rowlock.New(backend).
// A case that fails prints the broken promise. [Check] runs the same cases without go test, and [Bench] measures the
// backend's speed.
//
// Some cases need a fault that the suite cannot cause itself. A harness can implement optional interfaces that cause
// such faults: [Crasher] kills a client, [Partitioner] cuts its network, [ReplyDropper] loses a reply, [Restarter]
// restarts the store, [Limited] opens a client without a right, and [Expirer] makes a lease expire now. [Counter] counts
// requests. If the harness lacks such an interface, the suite skips the cases that need it. [Expirer]
// is different. Without it, most cases that need an expired lease wait until the lease expires. The suite skips the
// rest of these cases. If a backend does not keep a promise and its documentation says so, its harness implements
// [Exempter].
//
// A refused attempt to acquire must return a [*driver.Held] or a rowlock.ErrHeld. Each case uses its own names and ends
// within two minutes.
package locktest
