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
	d, describes := b.(driver.Describer)
	if !ok || !describes || !d.Capabilities().Wakes {
		t.skipf("the backend does not declare that it wakes (driver.Capabilities)")
	}
	g := t.grant(a, t.request(t.key("x")))
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
	defer stop()
	t.refuse(b, t.request(g.Key))
	for range 3 { // one wake-up may come of the subscription itself
		select {
		case <-woken:
		default:
		}
		t.release(a, g)
		t.await(woken, "a wake-up after the release")
		g = t.grantAtLast(a, t.request(g.Key)) // it may be kept for the waiter for a moment
	}
	t.release(a, g)
	r := t.request(g.Key)
	r.Waiting = true
	t.grant(b, r)
}
