package locktest

import (
	"time"

	"github.com/rowlock/rowlock/driver"
)

var nonceCases = []testCase{
	{
		name:    "same-nonce-same-grant",
		promise: "A repeated request, with the same nonce, returns the same grant with the same token.",
		run:     sameNonceSameGrant,
	},
	{
		name:    "same-nonce-counts-anew",
		promise: "A repeated request returns the grant, and its TTL starts again.",
		run:     sameNonceCountsAnew,
	},
	{
		name:    "same-nonce-after-release",
		promise: "A request that arrives after its grant was released makes a new grant with a larger token, and the new grant can be released by its nonce.",
		run:     sameNonceAfterRelease,
	},
}

func sameNonceSameGrant(t *trial) {
	a, b := t.open(), t.open()
	r := t.request(t.key("x"))
	g := t.grant(a, r)
	for range 3 {
		if again := t.grant(a, r); again != g {
			t.fatalf("granted %+v, and %+v for the same nonce", g, again)
		}
	}
	t.refuse(b, t.request(r.Key))
	t.release(a, g)
	t.grant(b, t.request(r.Key))
}

// expiresIn returns the remaining time until key is free, according to a refusal.
func (t *trial) expiresIn(b driver.Backend, key driver.Key) time.Duration {
	held := t.refuse(b, t.request(key))
	if held.ExpiresIn == 0 {
		t.skipf("the backend does not know when a name is free (driver.Held.ExpiresIn)")
	}
	return held.ExpiresIn
}

func sameNonceCountsAnew(t *trial) {
	a, b := t.open(), t.open()
	r := t.request(t.key("x"))
	t.grant(a, r)
	if left := t.expiresIn(b, r.Key); left > steady {
		t.fatalf("requested a TTL of %s, but a refusal says free in %s", steady, left)
	}
	// A repeated request with a longer TTL moves the expiry clearly. With the same TTL, the expiry would move only by
	// the elapsed time.
	r.TTL = 3 * steady
	t.grant(a, r)
	if left := t.expiresIn(b, r.Key); left <= steady {
		t.fatalf("repeated with a TTL of %s, the lease ends in %s", r.TTL, left)
	}
}

func sameNonceAfterRelease(t *trial) {
	a, b := t.open(), t.open()
	t.needOrder(a)
	r := t.request(t.key("x"))
	first := t.grant(a, r)
	t.release(a, first)
	second := t.grant(a, r)
	t.rises(first.Token, second.Token)
	second.Token = 0
	t.release(a, second)
	t.grant(b, t.request(r.Key))
}
