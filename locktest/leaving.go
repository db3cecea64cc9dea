package locktest

import (
	"time"

	"github.com/rowlock/rowlock/driver"
)

var leavingCases = []testCase{
	{
		name:    "left-request-is-granted",
		promise: "After the release, a refused waiter gets a grant with the same nonce, with or without another request.",
		run:     leftRequestIsGranted,
	},
	{
		name:    "left-request-is-withdrawn",
		promise: "A recorded request that was released by its nonce is not granted later. A request that the store has not reported as recorded is not granted later, either. After the holder's release any client can acquire the name.",
		run:     leftRequestIsWithdrawn,
	},
}

// listen subscribes b to key. A store grants a recorded request without a further request only to a client that has
// subscribed.
func (t *trial) listen(b driver.Backend, key driver.Key) {
	n, ok := b.(driver.Notifier)
	if !ok {
		t.skipf("the backend does not implement driver.Notifier")
	}
	stop, err := n.Notify(t.ctx, key, func() {})
	if err != nil {
		t.fatalf("subscribe to %q: %v", key, err)
	}
	t.cleanup(stop)
}

// leave sends a request of a waiter, which the store refuses. Some stores record such a request, and the method gives
// the store a moment to do so. The recorded request remains for longer than a case lasts, unless a release grants it.
// The result pending reports whether the store has recorded the request.
func (t *trial) leave(b driver.Backend, key driver.Key) (r driver.Request, pending bool) {
	r = t.request(key)
	r.TTL, r.Waits = min(10*t.patience, time.Minute), true
	for range 20 {
		pending = t.refuse(b, r).Pending
		r.Waiting = true
		if pending {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	return r, pending
}

func leftRequestIsGranted(t *trial) {
	a, b, c := t.open(), t.open(), t.open()
	key := t.key("x")
	t.listen(b, key)
	g := t.grant(a, t.request(key))
	for range 3 {
		r, _ := t.leave(b, key)
		t.release(a, g)
		next := t.grantAtLast(b, r)
		if ordered(b) {
			t.rises(g.Token, next.Token)
		}
		t.isHeld(b, next)
		if held := t.refuse(c, t.request(key)); held.Token != next.Token && held.Token != 0 {
			t.fatalf("granted token %d; a refusal reports %d", next.Token, held.Token)
		}
		t.release(b, next)
		g = t.grantAtLast(a, t.request(key))
	}
	t.release(a, g)
}

func leftRequestIsWithdrawn(t *trial) {
	a, b, c := t.open(), t.open(), t.open()
	key := t.key("x")
	t.listen(b, key)
	g := t.grant(a, t.request(key))
	for range 3 {
		r, pending := t.leave(b, key)
		if pending {
			t.takeBack(b, r)
		}
		t.release(a, g)
		next := t.grantAtLast(c, t.request(key))
		t.isLost(b, driver.Grant{Key: key, Nonce: r.Nonce, Token: next.Token, TTL: r.TTL}, "a request that was withdrawn")
		t.release(c, next)
		g = t.grantAtLast(a, t.request(key))
	}
	t.release(a, g)
}
