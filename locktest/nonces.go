package locktest

import (
	"time"

	"github.com/rowlock/rowlock/driver"
)

var nonceCases = []testCase{
	{
		name:    "same-nonce-same-grant",
		promise: "A request that is sent again, by its nonce, gets the same grant with the same token.",
		run:     sameNonceSameGrant,
	},
	{
		name:    "same-nonce-counts-anew",
		promise: "A request that is sent again has its expiry counted anew.",
		run:     sameNonceCountsAnew,
	},
	{
		name:    "same-nonce-after-release",
		promise: "A request that arrives after its grant was released is a new grant, with a larger token, and can be taken back by its nonce.",
		run:     sameNonceAfterRelease,
	},
}

func sameNonceSameGrant(t *trial) {
	a, b := t.open(), t.open()
	r := t.request(t.key("x"))
	g := t.grant(a, r)
	for range 3 {
		if again := t.grant(a, r); again != g {
			t.fatalf("granted %+v, and the same nonce again %+v", g, again)
		}
	}
	t.refuse(b, t.request(r.Key))
	t.release(a, g)
	t.grant(b, t.request(r.Key))
}

// expiresIn is what others are told of when key is free.
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
		t.fatalf("a TTL of %s was asked for, and others are told to wait %s", steady, left)
	}
	// The same TTL again would have to be told apart by the time that has passed in between.
	r.TTL = 3 * steady
	t.grant(a, r)
	if left := t.expiresIn(b, r.Key); left <= steady {
		t.fatalf("sent again with a TTL of %s, the lease ends in %s", r.TTL, left)
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
