package locktest

import "github.com/rowlock/rowlock/driver"

var notifierCases = []testCase{
	{
		name:    "release-wakes",
		promise: "If the backend declares that it notifies waiters, a release by one client notifies another that has subscribed.",
		run:     releaseWakes,
	},
}

func releaseWakes(t *trial) {
	a, b := t.open(), t.open()
	n, ok := b.(driver.Notifier)
	if !ok {
		t.skipf("the backend does not implement driver.Notifier")
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
		// Some backends need a subscription to find out whether their store can notify.
		if !b.Capabilities().Wakes {
			stop()
			t.skipf("the backend does not declare that it notifies waiters (driver.Capabilities)")
		}
		r := t.request(g.Key)
		t.refuse(b, r)
		select {
		case <-woken: // the subscription itself may cause one notification
		default:
		}
		t.release(a, g)
		t.await(woken, "a notification after the release")
		r.Waiting = true
		g = t.grant(b, r)
		stop()
		t.release(b, g)
		g = t.grantAtLast(a, t.request(g.Key)) // the name may be reserved for a waiter for a short time
	}
	t.release(a, g)
	r := t.request(g.Key)
	r.Waiting = true
	t.grant(b, r)
}
