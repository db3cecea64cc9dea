package locktest

import (
	"time"

	"github.com/rowlock/rowlock/driver"
)

var leavingCases = []testCase{
	{
		name:    "left-request-is-granted",
		promise: "Who waits and was refused gets a grant by the same nonce after the release, whether the store made it by itself or when it is asked, and of its own accord only to a request that it said to have taken note of.",
		run:     leftRequestIsGranted,
	},
	{
		name:    "left-request-is-withdrawn",
		promise: "A request of who waited and has given up, released by its nonce, is granted no more: after the release of the holder the name is anybody's.",
		run:     leftRequestIsWithdrawn,
	},
}

// listen has b be told of key, without which no store can grant by itself.
func (t *trial) listen(b driver.Backend, key driver.Key) {
	n, ok := b.(driver.Notifier)
	if !ok {
		t.skipf("the backend is no driver.Notifier")
	}
	stop, err := n.Notify(t.ctx, key, func() {})
	if err != nil {
		t.fatalf("subscribe to %q: %v", key, err)
	}
	t.cleanup(stop)
}

// leave makes a request of who waits, which is refused, and gives a store that takes note of such a moment to be ready for
// it. It stays for longer than a case lasts if it is granted to nobody.
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
		r, pending := t.leave(b, key)
		t.release(a, g)
		next := t.grantAtLast(b, r)
		if ordered(b) {
			t.rises(g.Token, next.Token)
		}
		if next.Earlier && !pending {
			t.fatalf("granted token %d to an earlier request, of which the store has not taken note (driver.Held.Pending)", next.Token)
		}
		t.isHeld(b, next)
		if held := t.refuse(c, t.request(key)); held.Token != next.Token && held.Token != 0 {
			t.fatalf("granted token %d; others are told %d", next.Token, held.Token)
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
		r, _ := t.leave(b, key)
		t.takeBack(b, r)
		t.release(a, g)
		next := t.grantAtLast(c, t.request(key))
		t.isLost(b, driver.Grant{Key: key, Nonce: r.Nonce, Token: next.Token, TTL: r.TTL}, "of a request that was withdrawn")
		t.release(c, next)
		g = t.grantAtLast(a, t.request(key))
	}
	t.release(a, g)
}
