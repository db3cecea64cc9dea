package locktest

import (
	"errors"

	"github.com/rowlock/rowlock/driver"
)

func handOverRepeats(t *trial) {
	a, b := t.open(), t.open()
	hand := t.needHandOver(a)
	first := t.grant(a, t.request(t.key("x")))
	r := t.request(first.Key)
	g := t.handOver(hand, first, r)
	for range 3 {
		if again := t.handOver(hand, first, r); again != g {
			t.fatalf("handed over as %+v, and repeated with the same nonce as %+v", g, again)
		}
	}
	if again := t.grant(a, r); again != g {
		t.fatalf("handed over as %+v, but the same nonce acquires %+v", g, again)
	}
	r.TTL = 3 * steady
	t.handOver(hand, first, r)
	if left := t.expiresIn(b, r.Key); left <= steady {
		t.fatalf("repeated with a TTL of %s, the lease ends in %s", r.TTL, left)
	}
	t.release(a, g)
	t.handOverNot(hand, first, r)
	t.grant(b, t.request(r.Key))
}

func handOverReplyLost(t *trial) {
	a, b := t.open(), t.open()
	hand := t.needHandOver(a)
	warm := t.grant(a, t.request(t.key("warm")))
	t.release(a, t.handOver(hand, warm, t.request(warm.Key)))
	first := t.grant(a, t.request(t.key("x")))
	r := t.request(first.Key)
	t.dropReply(a)
	ctx, cancel := t.withTimeout(lively / 4)
	defer cancel()
	_, err := hand.HandOver(ctx, first, r)
	var held *driver.Held
	if errors.Is(err, driver.ErrNotHeld) || errors.As(err, &held) || driver.IsNotApplied(err) {
		t.fatalf("a hand-over whose reply was lost: want a grant or an unknown outcome, got %v", err)
	}
	g := t.handOverAgain(hand, first, r)
	t.rises(first.Token, g.Token)
	if held := t.refuse(b, t.request(r.Key)); held.Token != g.Token {
		t.fatalf("handed over with token %d; a refusal reports %d", g.Token, held.Token)
	}
	t.isLost(a, first, "a grant that was handed over")
	t.release(a, g)
}

// handOverAgain retries until the connection that lost a reply has been replaced.
func (t *trial) handOverAgain(b driver.HandOverer, from driver.Grant, r driver.Request) (g driver.Grant) {
	t.poll("a hand-over succeeds after a reply was lost", func() bool {
		ctx, cancel := t.withTimeout(attempt)
		defer cancel()
		var err error
		g, err = b.HandOver(ctx, from, r)
		if errors.Is(err, driver.ErrNotHeld) {
			t.fatalf("a repeated hand-over: %v", err)
		}
		return err == nil
	})
	return g
}
