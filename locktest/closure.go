package locktest

import (
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
)

var closureCases = []testCase{
	{
		name:    "minimum-hold",
		promise: "A name that was released before its minimum hold was over stays unavailable until then.",
		run:     minimumHold,
	},
	{
		name:    "hand-over-delay",
		promise: "A name whose lease expired without release stays unavailable for the holder's hand-over delay.",
		run:     handOverDelay,
	},
	{
		name:    "no-hand-over-delay-after-release",
		promise: "A released name is not subject to its hand-over delay.",
		run:     noHandOverDelayAfterRelease,
	},
}

// grantClosing sends a request with a minimum hold or a hand-over delay. If the backend rejects the request because it
// does not support this option, grantClosing skips the case.
func (t *trial) grantClosing(b driver.Backend, r driver.Request) driver.Grant {
	if _, err := b.Acquire(t.ctx, r); driver.IsPermanent(err) {
		var held *driver.Held
		if !errors.As(err, &held) {
			t.skipf("the backend supports no minimum hold or no hand-over delay: %v", err)
		}
	}
	return t.grant(b, r)
}

func minimumHold(t *trial) {
	a, b := t.open(), t.open()
	r := t.request(t.key("x"))
	r.MinHold = brief
	sent := time.Now()
	g := t.grantClosing(a, r)
	t.release(a, g)
	held := t.refuseUntil(b, r.Key, sent.Add(tolerance(r.MinHold)))
	if held != nil && held.Reason != driver.MinHold {
		t.fatalf("during a minimum hold, a request is refused as %q", held.Reason)
	}
	t.isLost(a, g, "a grant that was released")
	t.grantAtLast(b, t.request(r.Key))
}

// refuseUntil checks that key is refused until the given instant, and returns the last refusal. A grant before that
// instant is a failure. A grant after that instant is released.
func (t *trial) refuseUntil(b driver.Backend, key driver.Key, then time.Time) *driver.Held {
	var last *driver.Held
	for time.Now().Before(then) {
		g, held := t.ask(b, t.request(key))
		if held != nil {
			last = held
		} else if early := time.Until(then); early > 0 {
			t.fatalf("an unavailable name was granted (token %d) %s too early", g.Token, early)
		} else {
			t.release(b, g)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return last
}

func handOverDelay(t *trial) {
	a, b := t.open(), t.open()
	r := t.request(t.key("x"))
	r.HandoverDelay = brief
	var over time.Time
	var g driver.Grant
	if e, ok := t.harness.(Expirer); ok {
		g = t.grantClosing(a, r)
		over = time.Now()
		t.expire(e, r.Key)
	} else {
		r.TTL = brief
		over = time.Now().Add(tolerance(r.TTL))
		g = t.grantClosing(a, r)
	}
	held := t.refuseUntil(b, r.Key, over.Add(tolerance(r.HandoverDelay)))
	if held != nil && held.Reason != driver.Handover && held.Reason != driver.Leased {
		t.fatalf("during a hand-over delay, a request is refused as %q", held.Reason)
	}
	if _, ok := t.harness.(Expirer); ok {
		t.isLost(a, g, "a grant that has expired")
	}
	t.grantAtLast(b, t.request(r.Key)) // without an Expirer, only this grant shows that the lease has expired
	t.isLost(a, g, "a grant that has expired")
}

func noHandOverDelayAfterRelease(t *trial) {
	a, b := t.open(), t.open()
	r := t.request(t.key("x"))
	r.HandoverDelay = steady
	t.release(a, t.grantClosing(a, r))
	t.grant(b, t.request(r.Key))
}
