package locktest

import "github.com/rowlock/rowlock/driver"

var exclusionCases = []testCase{
	{
		name:    "excludes",
		promise: "While a name is held, every other acquisition of it is refused, also by the same client, and also with the same holder text.",
		run:     excludes,
	},
	{
		name:    "release-frees",
		promise: "A released name can be granted at once, to the same client and to any other.",
		run:     releaseFrees,
	},
	{
		name:    "waiting-asks-the-same",
		promise: "A retry of a refused acquisition has the same result as a new one.",
		run:     waitingAsksTheSame,
	},
}

func excludes(t *trial) {
	a, b := t.open(), t.open()
	first := t.request(t.key("x"))
	g := t.grant(a, first)
	for _, client := range []driver.Backend{a, b, a} {
		t.refuse(client, t.request(first.Key))
	}
	t.isHeld(a, g)
}

func releaseFrees(t *trial) {
	a, b := t.open(), t.open()
	key := t.key("x")
	for _, client := range []driver.Backend{a, a, b, a} {
		t.release(client, t.grant(client, t.request(key)))
	}
}

func waitingAsksTheSame(t *trial) {
	a, b := t.open(), t.open()
	key := t.key("x")
	waiting := t.request(key)
	waiting.Waiting = true
	first := t.grant(b, waiting)
	if again := t.grant(b, waiting); again.Token != first.Token {
		t.fatalf("the same nonce was granted token %d and then %d", first.Token, again.Token)
	}
	waiting.Nonce = driver.NewNonce()
	t.refuse(a, waiting)
	t.release(b, first)
	if g := t.grant(a, waiting); g.Token <= first.Token && first.Token != 0 {
		t.fatalf("token %d was granted after %d", g.Token, first.Token)
	}
}
