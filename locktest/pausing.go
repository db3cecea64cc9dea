package locktest

import (
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
)

var pauseCases = []testCase{
	{
		name:    "pause-closes",
		promise: "A pause keeps a name from everybody, says who paused it and why, and is no lease: no TTL, session or former holder ends it.",
		run:     pauseCloses,
	},
	{
		name:    "pause-keeps-waiters-out",
		promise: "Whoever stands next in the queue when the holder's grant becomes a pause is not granted the name, until the pause ends.",
		run:     pauseKeepsWaitersOut,
	},
	{
		name:    "pause-needs-the-grant",
		promise: "Only a grant that is held becomes a pause: none that has expired, was released, or has another nonce or token. The same request again changes nothing.",
		run:     pauseNeedsTheGrant,
	},
	{
		name:    "pause-ends-when-told",
		promise: "A forced release ends the pause with the token that was seen, when told to, and the next token is larger.",
		run:     pauseEndsWhenTold,
	},
}

// needPauses skips a case on a backend that declares that it cannot pause.
func (t *trial) needPauses(b driver.Backend) driver.Operator {
	if !b.Capabilities().Pauses {
		t.skipf("the backend cannot pause (driver.Capabilities.Pauses)")
	}
	return t.needOperator(b)
}

func (t *trial) pause(p driver.Operator, g driver.Grant, as driver.Nonce) {
	if err := p.Pause(t.ctx, g, as); err != nil {
		t.fatalf("pause token %d: %v", g.Token, err)
	}
}

func (t *trial) pauseNot(p driver.Operator, g driver.Grant, what string) {
	if err := p.Pause(t.ctx, g, driver.NewNonce()); !errors.Is(err, driver.ErrNotHeld) {
		t.fatalf("pause of %s: want driver.ErrNotHeld, got %v", what, err)
	}
}

func pauseCloses(t *trial) {
	a, b := t.open(), t.open()
	p := t.needPauses(a)
	inspector := t.needPauses(b)
	if held := t.refuse(b, t.request(t.grant(a, t.request(t.key("lease"))).Key)); held.Reason == driver.Paused {
		t.fatalf("a lease is refused as a pause")
	}
	r := t.request(t.key("x"))
	r.Holder, r.Note = "operator@desk", "Grüße, \"month end\""
	r.TTL = lively // which passes before the case is over
	g := t.grant(a, r)
	t.pause(p, g, driver.NewNonce())
	witness := t.request(t.key("witness")) // granted later, for as long, on the same session if there is one
	witness.TTL = r.TTL
	t.grant(a, witness)
	if got := t.renew(a, g); got != driver.Lost {
		t.fatalf("the grant that became a pause is renewed: want %s, got %s", driver.Lost, got)
	}
	t.releaseNot(a, g)
	if e, ok := t.harness.(Expirer); ok && sessions(a) {
		t.expire(e, witness.Key)
	}
	t.grantAtLast(b, t.request(witness.Key))
	held := t.refuse(b, t.request(r.Key))
	if held.Reason != driver.Paused || held.Holder != r.Holder || held.Note != r.Note || held.Token != g.Token || held.ExpiresIn != 0 {
		t.fatalf("paused by %q for %q with token %d; others are told %+v", r.Holder, r.Note, g.Token, *held)
	}
	seen := t.inspect(inspector, r.Key)
	t.checkStatus(seen, driver.StatePaused, g.Token)
	if seen.Holder != r.Holder || seen.Note != r.Note || seen.ExpiresIn != 0 || seen.FreeIn != 0 {
		t.fatalf("paused by %q for %q; an inspector sees %+v", r.Holder, r.Note, seen)
	}
}

// pauseKeepsWaitersOut may miss a waiter that is granted the name late.
func pauseKeepsWaitersOut(t *trial) {
	a, b := t.open(), t.open()
	p := t.needPauses(a)
	const enough = 300 * time.Millisecond
	g := t.grant(a, t.request(t.key("x")))
	w := t.wait(t.ctx, t.locker(b), g.Key.Name)
	t.pause(p, g, driver.NewNonce())
	timer := time.NewTimer(enough)
	defer timer.Stop()
	select {
	case <-w.done:
		t.fatalf("paused with token %d; a waiter was granted the name, or gave up: %v, error %v", g.Token, w.lease, w.err)
	case <-timer.C:
	}
	t.checkStatus(t.inspect(p, g.Key), driver.StatePaused, g.Token)
	if err := p.ForceRelease(t.ctx, g.Key, g.Token, true); err != nil {
		t.fatalf("end of a pause: %v", err)
	}
	next := t.has(w)
	t.rises(g.Token, next.Token())
	if err := next.Release(t.ctx); err != nil {
		t.fatalf("release: %v", err)
	}
}

func pauseNeedsTheGrant(t *trial) {
	a := t.open()
	p := t.needPauses(a)
	dead := t.expired(t.open(), t.request(t.key("expired")))
	t.pauseNot(p, dead, "a lease that has expired")
	g := t.grant(a, t.request(t.key("x")))
	other := g
	other.Nonce = driver.NewNonce()
	t.pauseNot(p, other, "another's grant")
	other = g
	other.Token++
	t.pauseNot(p, other, "another token")
	t.release(a, g)
	t.pauseNot(p, g, "a grant that was released")

	r := t.request(g.Key)
	r.Nonce = driver.NewNonce()
	g = t.grant(a, r)
	as := driver.NewNonce()
	t.pause(p, g, as)
	t.pause(p, g, as)
	t.checkStatus(t.inspect(p, g.Key), driver.StatePaused, g.Token)
}

func pauseEndsWhenTold(t *trial) {
	a, b := t.open(), t.open()
	p := t.needPauses(a)
	inspector := t.needPauses(b)
	g := t.grant(a, t.request(t.key("x")))
	t.pause(p, g, driver.NewNonce())
	if err := inspector.ForceRelease(t.ctx, g.Key, g.Token+1, true); !errors.Is(err, driver.ErrNotHeld) {
		t.fatalf("end of a pause with another token: want driver.ErrNotHeld, got %v", err)
	}
	var held *driver.Held
	if err := inspector.ForceRelease(t.ctx, g.Key, g.Token, false); !errors.As(err, &held) || held.Reason != driver.Paused {
		t.fatalf("end of a pause without being told to: want a *driver.Held that says paused, got %v", err)
	}
	if err := inspector.ForceRelease(t.ctx, g.Key, g.Token, true); err != nil {
		t.fatalf("end of a pause: %v", err)
	}
	if seen := t.inspect(inspector, g.Key); seen.State != driver.StateFree {
		t.fatalf("after the end of a pause an inspector sees %s", seen.State)
	}
	next := t.grantAtLast(b, t.request(g.Key))
	t.rises(g.Token, next.Token)
	t.release(b, next)
	t.rises(next.Token, t.grantAtLast(a, t.request(g.Key)).Token)
}
