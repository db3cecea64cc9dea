package locktest

import (
	"errors"

	"github.com/rowlock/rowlock/driver"
)

var releaseCases = []testCase{
	{
		name:    "release-repeats",
		promise: "A repeated release is not an error, and does not end another grant.",
		run:     releaseRepeats,
	},
	{
		name:    "release-by-nonce",
		promise: "A release without a token ends the grant of its nonce and no other. This undoes an acquire whose reply was lost.",
		run:     releaseByNonce,
	},
	{
		name:    "release-of-nothing",
		promise: "A release of a grant that never existed returns not held, and leaves nothing behind.",
		run:     releaseOfNothing,
	},
	{
		name:    "release-too-late",
		promise: "If the name of an expired grant has a new holder, a release of the expired grant returns not held, and a renewal returns lost. The new holder's grant does not change.",
		run:     releaseTooLate,
	},
}

func releaseRepeats(t *trial) {
	a, b := t.open(), t.open()
	first := t.grant(a, t.request(t.key("x")))
	for range 3 {
		t.release(a, first)
	}
	second := t.grant(b, t.request(first.Key))
	// After a store has made another grant for the same name, it need not remember the first grant.
	if err := a.Release(t.ctx, first); err != nil && !errors.Is(err, driver.ErrNotHeld) {
		t.fatalf("repeat a release after another grant: %v", err)
	}
	t.refuse(a, t.request(first.Key))
	t.isHeld(b, second)
}

func releaseByNonce(t *trial) {
	a, b := t.open(), t.open()
	g := t.grant(a, t.request(t.key("x")))
	stranger := driver.Grant{Key: g.Key, Nonce: driver.NewNonce(), TTL: g.TTL}
	t.releaseNot(b, stranger)
	t.isHeld(a, g)
	unknown := g
	unknown.Token = 0
	t.release(a, unknown)
	second := t.grant(b, t.request(g.Key))
	if g.Token != 0 { // with token zero the altered grant equals the real grant, whose release may be repeated
		t.releaseNot(a, unknown)
	} else if err := a.Release(t.ctx, unknown); err != nil && !errors.Is(err, driver.ErrNotHeld) {
		t.fatalf("repeat a release: %v", err)
	}
	t.isHeld(b, second)
}

func releaseOfNothing(t *trial) {
	a, b := t.open(), t.open()
	never := driver.Grant{Key: t.key("x"), Nonce: driver.NewNonce(), TTL: steady}
	t.releaseNot(a, never)
	never.Token = 1
	t.releaseNot(a, never)
	t.grant(b, t.request(never.Key))
}

func releaseTooLate(t *trial) {
	a, b := t.open(), t.open()
	old := t.expired(a, t.request(t.key("x")))
	present := t.grant(b, t.request(old.Key))
	t.isLost(a, old, "a grant that was taken over")
	t.releaseNot(a, old)
	old.Token = 0
	t.releaseNot(a, old)
	t.refuse(a, t.request(old.Key))
	t.isHeld(b, present)
}
