package locktest

import (
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
)

var handOverCases = []testCase{
	{
		name:    "hand-over-grants",
		promise: "A hand-over ends one grant and makes the next with a larger token, like a release and an acquire.",
		run:     handOverGrants,
	},
	{
		name:    "hand-over-needs-the-grant",
		promise: "A hand-over of a grant that is not held returns not held. It grants nothing and does not change other grants.",
		run:     handOverNeedsTheGrant,
	},
	{
		name:    "hand-over-too-late",
		promise: "A hand-over of an expired grant returns not held, and grants nothing.",
		run:     handOverTooLate,
	},
	{
		name:    "hand-over-repeats",
		promise: "A repeated hand-over, with the same nonce, returns the same grant, and its TTL starts again. After a release of that grant it grants nothing.",
		run:     handOverRepeats,
	},
	{
		name:    "hand-over-reply-lost",
		promise: "A hand-over whose reply was lost is repeated, and returns the grant of the first request.",
		needs:   []power{dropping},
		run:     handOverReplyLost,
	},
	{
		name:    "hand-over-keeps-the-minimum-hold",
		promise: "A grant whose minimum hold is not over is not handed over. It stays held, and can be released.",
		run:     handOverKeepsTheMinimumHold,
	},
	{
		name:    "hand-over-excludes",
		promise: "While a name is handed over repeatedly, no other client acquires it.",
		run:     handOverExcludes,
	},
}

// needHandOver skips a case if the backend cannot hand over.
func (t *trial) needHandOver(b driver.Backend) driver.HandOverer {
	h, ok := b.(driver.HandOverer)
	if !ok {
		t.skipf("the backend does not implement driver.HandOverer")
	}
	return h
}

// handOver makes a hand-over that must succeed. While the row is contended, handOver retries.
func (t *trial) handOver(b driver.HandOverer, from driver.Grant, r driver.Request) driver.Grant {
	var g driver.Grant
	t.poll("a reply other than contended", func() bool {
		var err error
		var held *driver.Held
		g, err = b.HandOver(t.ctx, from, r)
		if errors.As(err, &held) && held.Reason == driver.Contended {
			return false
		}
		if err != nil {
			t.fatalf("hand over token %d, which is held: %v", from.Token, err)
		}
		return true
	})
	t.checkGrant(b.(driver.Backend), r, g)
	return g
}

func (t *trial) handOverNot(b driver.HandOverer, from driver.Grant, r driver.Request) {
	if g, err := b.HandOver(t.ctx, from, r); !errors.Is(err, driver.ErrNotHeld) {
		t.fatalf("hand-over of a grant that is not held (token %d): want driver.ErrNotHeld, got grant %+v, error %v", from.Token, g, err)
	}
}

func handOverGrants(t *trial) {
	a, b := t.open(), t.open()
	hand := t.needHandOver(a)
	r := t.request(t.key("x"))
	r.Holder, r.TTL = "the first", 3*steady
	g := t.grant(a, r)
	for range 4 {
		next := t.request(r.Key)
		next.Holder, next.Note, next.HandoverDelay = "the next", "the note", time.Second
		old := g
		g = t.handOver(hand, old, next)
		t.rises(old.Token, g.Token)
		t.isLost(a, old, "a grant that was handed over")
		t.releaseNot(a, old)
		held := t.refuse(b, t.request(r.Key))
		if held.Token != g.Token || held.Holder != next.Holder || held.Note != next.Note {
			t.fatalf("handed over to %q with token %d; a refusal reports %+v", next.Holder, g.Token, held)
		}
		if held.ExpiresIn > 2*steady {
			t.fatalf("requested a TTL of %s after one of %s, but a refusal says free in %s", next.TTL, r.TTL, held.ExpiresIn)
		}
		t.isHeld(a, g)
	}
	t.release(a, g)
	t.rises(g.Token, t.grant(b, t.request(r.Key)).Token)
}

func handOverNeedsTheGrant(t *trial) {
	a, b := t.open(), t.open()
	hand := t.needHandOver(a)
	g := t.grant(a, t.request(t.key("x")))
	stranger, older := g, g
	stranger.Nonce = driver.NewNonce()
	older.Token--
	for _, from := range []driver.Grant{stranger, older} {
		t.handOverNot(hand, from, t.request(g.Key))
		t.isHeld(a, g)
	}
	t.release(a, g)
	t.handOverNot(hand, g, t.request(g.Key))
	present := t.grant(b, t.request(g.Key))
	t.handOverNot(hand, g, t.request(g.Key))
	t.isHeld(b, present)
	never := driver.Grant{Key: t.key("never"), Nonce: driver.NewNonce(), Token: 1, TTL: steady}
	t.handOverNot(hand, never, t.request(never.Key))
	t.grant(b, t.request(never.Key))
}

func handOverTooLate(t *trial) {
	a, b := t.open(), t.open()
	hand := t.needHandOver(a)
	old := t.expired(a, t.request(t.key("x")))
	t.handOverNot(hand, old, t.request(old.Key))
	t.grant(b, t.request(old.Key))
}

func handOverKeepsTheMinimumHold(t *trial) {
	a, b := t.open(), t.open()
	hand := t.needHandOver(a)
	r := t.request(t.key("x"))
	r.MinHold = 10 * time.Minute
	g := t.grant(a, r)
	next := t.request(r.Key)
	granted, err := hand.HandOver(t.ctx, g, next)
	var held *driver.Held
	if !errors.As(err, &held) {
		t.fatalf("hand-over during a minimum hold of %s: want *driver.Held, got %+v, error %v", r.MinHold, granted, err)
	}
	t.isHeld(a, g)
	t.release(a, g)
	if held := t.refuse(b, t.request(r.Key)); held.Reason != driver.MinHold {
		t.fatalf("released within its minimum hold: a refusal reports %v", held)
	}
	short := t.request(t.key("over"))
	short.MinHold = time.Millisecond
	g, next = t.grant(a, short), t.request(short.Key)
	t.poll("a hand-over after the minimum hold", func() bool {
		granted, err = hand.HandOver(t.ctx, g, next)
		if err != nil && !errors.As(err, &held) {
			t.fatalf("hand-over after a minimum hold: %v", err)
		}
		return err == nil
	})
	t.release(a, granted)
}
