package locktest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/driver"
)

var handOverCases = []testCase{
	{
		name:    "hand-over-grants",
		promise: "A hand-over ends one grant and makes the next with a larger token, as if it had been released and acquired.",
		run:     handOverGrants,
	},
	{
		name:    "hand-over-needs-the-grant",
		promise: "A hand-over of what is not held, because it was released, taken over, or never granted so, says so, and nothing is granted and nobody's grant changed.",
		run:     handOverNeedsTheGrant,
	},
	{
		name:    "hand-over-too-late",
		promise: "A hand-over of a grant that has expired says that it is not held, and grants nothing.",
		run:     handOverTooLate,
	},
	{
		name:    "hand-over-repeats",
		promise: "A hand-over that is sent again, by the nonce of its request, gets the same grant with its expiry counted anew, and after that was released it grants nothing.",
		run:     handOverRepeats,
	},
	{
		name:    "hand-over-reply-lost",
		promise: "A hand-over whose reply was lost is sent again and gets the grant that it was given the first time.",
		needs:   []power{dropping},
		run:     handOverReplyLost,
	},
	{
		name:    "hand-over-keeps-the-minimum-hold",
		promise: "A grant whose minimum hold is not over is not handed over: it stays, and can be released.",
		run:     handOverKeepsTheMinimumHold,
	},
	{
		name:    "hand-over-excludes",
		promise: "While a name is handed over, again and again, nobody else is granted it.",
		run:     handOverExcludes,
	},
}

// needHandOver skips a case on a backend that cannot hand over.
func (t *trial) needHandOver(b driver.Backend) driver.HandOverer {
	h, ok := b.(driver.HandOverer)
	if !ok {
		t.skipf("the backend does not implement driver.HandOverer")
	}
	return h
}

// handOver makes a hand-over that must succeed, as soon as the row is not contended.
func (t *trial) handOver(b driver.HandOverer, from driver.Grant, r driver.Request) driver.Grant {
	var g driver.Grant
	t.poll("an answer other than contended", func() bool {
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
		t.fatalf("hand-over of what is not held (token %d): want driver.ErrNotHeld, got grant %+v, error %v", from.Token, g, err)
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
		t.isLost(a, old, "of a grant that was handed over")
		t.releaseNot(a, old)
		held := t.refuse(b, t.request(r.Key))
		if held.Token != g.Token || held.Holder != next.Holder || held.Note != next.Note {
			t.fatalf("handed over to %q with token %d; others are told %+v", next.Holder, g.Token, held)
		}
		if held.ExpiresIn > 2*steady {
			t.fatalf("a TTL of %s was asked for after one of %s, and others are told to wait %s", next.TTL, r.TTL, held.ExpiresIn)
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

func handOverRepeats(t *trial) {
	a, b := t.open(), t.open()
	hand := t.needHandOver(a)
	first := t.grant(a, t.request(t.key("x")))
	r := t.request(first.Key)
	g := t.handOver(hand, first, r)
	for range 3 {
		if again := t.handOver(hand, first, r); again != g {
			t.fatalf("handed over as %+v, and to the same nonce again as %+v", g, again)
		}
	}
	if again := t.grant(a, r); again != g {
		t.fatalf("handed over as %+v, and the same nonce acquires %+v", g, again)
	}
	r.TTL = 3 * steady
	t.handOver(hand, first, r)
	if left := t.expiresIn(b, r.Key); left <= steady {
		t.fatalf("sent again with a TTL of %s, the lease ends in %s", r.TTL, left)
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
		t.fatalf("handed over with token %d; others are told %d", g.Token, held.Token)
	}
	t.isLost(a, first, "of a grant that was handed over")
	t.release(a, g)
}

// handOverAgain asks until a connection that lost a reply is replaced.
func (t *trial) handOverAgain(b driver.HandOverer, from driver.Grant, r driver.Request) (g driver.Grant) {
	t.poll("a hand-over succeeds after a reply was lost", func() bool {
		ctx, cancel := t.withTimeout(slack)
		defer cancel()
		var err error
		g, err = b.HandOver(ctx, from, r)
		if errors.Is(err, driver.ErrNotHeld) {
			t.fatalf("a hand-over that is sent again: %v", err)
		}
		return err == nil
	})
	return g
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
		t.fatalf("hand-over of a minimum hold of %s: want *driver.Held, got %+v, error %v", r.MinHold, granted, err)
	}
	t.isHeld(a, g)
	t.release(a, g)
	if held := t.refuse(b, t.request(r.Key)); held.Reason != driver.MinHold {
		t.fatalf("released within its minimum hold: others are told %v", held)
	}
	short := t.request(t.key("over"))
	short.MinHold = time.Millisecond
	g, next = t.grant(a, short), t.request(short.Key)
	t.poll("a minimum hold that is over hinders nobody", func() bool {
		granted, err = hand.HandOver(t.ctx, g, next)
		if err != nil && !errors.As(err, &held) {
			t.fatalf("hand-over after a minimum hold: %v", err)
		}
		return err == nil
	})
	t.release(a, granted)
}

func handOverExcludes(t *trial) {
	a := t.open()
	hand := t.needHandOver(a)
	const rivals, times = 3, 30
	g := t.grant(a, t.request(t.key("x")))
	var asked atomic.Int64
	var over atomic.Bool // and no cancelled request, for which some poolers in between break other connections
	granted := make(chan string, rivals)
	var asking sync.WaitGroup
	t.cleanup(func() { // before the clients are closed
		over.Store(true)
		asking.Wait()
	})
	for range rivals {
		b := t.open()
		key := g.Key
		asking.Go(func() { granted <- t.rival(b, key, &asked, &over) })
	}
	for n := range times {
		next := t.request(g.Key)
		after := t.handOver(hand, g, next)
		t.rises(g.Token, after.Token)
		g = after
		t.isHeldAtLast(a, g)
		t.poll("others ask in between", func() bool { return asked.Load() > int64(n) })
	}
	over.Store(true)
	for range rivals {
		if wrong := <-granted; wrong != "" {
			t.fatalf("%s", wrong)
		}
	}
	t.release(a, g)
}

// rival asks for a key that is never free, until it is over, and says what was wrong.
func (t *trial) rival(b driver.Backend, key driver.Key, asked *atomic.Int64, over *atomic.Bool) string {
	for !over.Load() {
		g, err := b.Acquire(t.ctx, t.request(key))
		var held *driver.Held
		switch {
		case err == nil:
			return "token " + g.Token.String() + " was granted in the middle of a hand-over"
		case !errors.As(err, &held):
			return "acquire: neither a grant nor a *driver.Held: " + err.Error()
		}
		asked.Add(1)
	}
	return ""
}

// isHeldAtLast is isHeld while others may have their hands on the row.
func (t *trial) isHeldAtLast(b driver.Backend, g driver.Grant) {
	t.poll("an outcome other than unknown", func() bool {
		switch got := t.renew(b, g); got {
		case driver.Lost:
			t.fatalf("the holder of token %d renews: %s", g.Token, got)
			return false
		default:
			return got == driver.Renewed
		}
	})
}
