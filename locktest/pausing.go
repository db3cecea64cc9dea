package locktest

import (
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
)

var pauseCases = []testCase{
	{
		name:    "pause-closes",
		promise: "During a pause nobody acquires the name, and refusals say who paused it and why. No TTL, session or former holder ends the pause.",
		run:     pauseCloses,
	},
	{
		name:    "pause-keeps-waiters-out",
		promise: "If the holder's grant becomes a pause, the next waiter in the queue acquires the name only after the pause.",
		run:     pauseKeepsWaitersOut,
	},
	{
		name:    "pause-needs-the-grant",
		promise: "Only a held grant becomes a pause. A grant that has expired, was released, or has another nonce or token does not. A repeated request changes nothing.",
		run:     pauseNeedsTheGrant,
	},
	{
		name:    "pause-ends-when-told",
		promise: "A forced release with the token of the pause ends the pause if live is set, and the next token is larger.",
		run:     pauseEndsWhenTold,
	},
}

// needPauses skips a case if the backend declares that it cannot pause.
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
		t.fatalf("a held name is refused with the reason paused")
	}
	r := t.request(t.key("x"))
	r.Holder, r.Note = "operator@desk", "Grüße, \"month end\""
	e, expires := t.harness.(Expirer)
	expires = expires && sessions(a)
	r.TTL = lively // the TTL is over before the case ends
	if expires {
		r.TTL = kept // the case ends the session
	}
	began := time.Now()
	g := t.grant(a, r)
	err := p.Pause(t.ctx, g, driver.NewNonce())
	for i := 0; errors.Is(err, driver.ErrNotHeld) && time.Since(began) > r.TTL; i++ { // the machine was too slow for this TTL
		r.Key, r.Nonce, began = t.key(fmt.Sprint("x", i)), driver.NewNonce(), time.Now()
		g = t.grant(a, r)
		err = p.Pause(t.ctx, g, driver.NewNonce())
	}
	if err != nil {
		t.fatalf("pause token %d: %v", g.Token, err)
	}
	witness := t.request(t.key("witness")) // has the session and TTL of g, but a later grant: if it has expired, the TTL of g is over, too
	witness.TTL = r.TTL
	t.grant(a, witness)
	if got := t.renew(a, g); got != driver.Lost {
		t.fatalf("the grant that became a pause is renewed: want %s, got %s", driver.Lost, got)
	}
	t.releaseNot(a, g)
	if expires {
		t.expire(e, witness.Key)
	}
	t.grantAtLast(b, t.request(witness.Key))
	held := t.refuse(b, t.request(r.Key))
	if held.Reason != driver.Paused || held.Holder != r.Holder || held.Note != r.Note || held.Token != g.Token || held.ExpiresIn != 0 {
		t.fatalf("paused by %q for %q with token %d; a refusal reports %+v", r.Holder, r.Note, g.Token, *held)
	}
	seen := t.inspect(inspector, r.Key)
	t.checkStatus(seen, driver.StatePaused, g.Token)
	if seen.Holder != r.Holder || seen.Note != r.Note || seen.ExpiresIn != 0 || seen.FreeIn != 0 {
		t.fatalf("paused by %q for %q; an inspection shows %+v", r.Holder, r.Note, seen)
	}
}

// pauseKeepsWaitersOut does not detect every faulty store, because the waiter may acquire the name after this case
// has stopped waiting.
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
		t.fatalf("paused with token %d, but a waiter returned lease %v, error %v", g.Token, w.lease, w.err)
	case <-timer.C:
	}
	t.checkStatus(t.inspect(p, g.Key), driver.StatePaused, g.Token)
	if err := p.ForceRelease(t.ctx, g.Key, g.Token, true); err != nil {
		t.fatalf("end a pause: %v", err)
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
		t.fatalf("end a pause with another token: want driver.ErrNotHeld, got %v", err)
	}
	var held *driver.Held
	if err := inspector.ForceRelease(t.ctx, g.Key, g.Token, false); !errors.As(err, &held) || held.Reason != driver.Paused {
		t.fatalf("end a pause with live = false: want a *driver.Held with reason paused, got %v", err)
	}
	if err := inspector.ForceRelease(t.ctx, g.Key, g.Token, true); err != nil {
		t.fatalf("end a pause: %v", err)
	}
	if seen := t.inspect(inspector, g.Key); seen.State != driver.StateFree {
		t.fatalf("after the end of a pause an inspection shows %s", seen.State)
	}
	next := t.grantAtLast(b, t.request(g.Key))
	t.rises(g.Token, next.Token)
	t.release(b, next)
	t.rises(next.Token, t.grantAtLast(a, t.request(g.Key)).Token)
}
