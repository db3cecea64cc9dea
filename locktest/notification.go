package locktest

import "github.com/rowlock/rowlock/driver"

var notifierCases = []testCase{
	{
		name:    "release-wakes",
		promise: "Where the backend says that it wakes, a release by one client wakes another that asked to be told.",
		run:     releaseWakes,
	},
}

func releaseWakes(t *trial) {
	a, b := t.open(), t.open()
	n, ok := b.(driver.Notifier)
	if !ok {
		t.skipf("the backend is no driver.Notifier")
	}
	g := t.grant(a, t.request(t.key("x")))
	for range 3 {
		woken := make(chan struct{}, 1)
		stop, err := n.Notify(t.ctx, g.Key, func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		})
		if err != nil {
			t.fatalf("subscribe to %q: %v", g.Key, err)
		}
		// Some backends learn from subscribing what their store can do.
		if !b.Capabilities().Wakes {
			stop()
			t.skipf("the backend does not declare that it wakes (driver.Capabilities)")
		}
		r := t.request(g.Key)
		t.refuse(b, r)
		select {
		case <-woken: // one wake-up may come of the subscription itself
		default:
		}
		t.release(a, g)
		t.await(woken, "a wake-up after the release")
		r.Waiting = true
		g = t.grant(b, r)
		stop()
		t.release(b, g)
		g = t.grantAtLast(a, t.request(g.Key)) // it may be kept for a waiter for a moment
	}
	t.release(a, g)
	r := t.request(g.Key)
	r.Waiting = true
	t.grant(b, r)
}
