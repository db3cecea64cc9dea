package locktest

import "github.com/rowlock/rowlock/driver"

var tokenCases = []testCase{
	{
		name:    "tokens-rise-after-release",
		promise: "Tokens of one name are larger than zero and rise strictly from grant to grant, for all clients.",
		run:     tokensRiseAfterRelease,
	},
	{
		name:    "tokens-rise-after-expiry",
		promise: "The token of a grant is larger than the token of an expired grant before it.",
		run:     tokensRiseAfterExpiry,
	},
	{
		name:    "tokens-rise-after-force",
		promise: "Forced release raises the token, so that the old holder is fenced before the name has a new holder.",
		run:     tokensRiseAfterForce,
	},
	{
		name:    "tokens-rise-after-prune",
		promise: "After a prune, the next grant of the name has a larger token than all earlier grants.",
		alone:   true, // other cases repeat releases, for which they need the data that a prune deletes
		run:     tokensRiseAfterPrune,
	},
	{
		name:    "token-stays",
		promise: "The token belongs to the grant: renewal does not change it.",
		run:     tokenStays,
	},
}

// needOrder skips a case about tokens if the backend declares that it has no tokens.
func (t *trial) needOrder(b driver.Backend) {
	if !ordered(b) {
		t.skipf("the backend declares no order of tokens (driver.Capabilities)")
	}
}

// ordered reports whether the backend declares that its tokens are ordered.
func ordered(b driver.Backend) bool {
	return b.Capabilities().Token != driver.NoToken
}

func (t *trial) needOperator(b driver.Backend) driver.Operator {
	i, ok := b.(driver.Operator)
	if !ok {
		t.skipf("the backend does not implement driver.Operator")
	}
	t.needRecord(b)
	return i
}

func (t *trial) rises(before, after driver.Token) {
	if after <= before {
		t.fatalf("token %d was granted after token %d", after, before)
	}
}

func tokensRiseAfterRelease(t *trial) {
	clients := [...]driver.Backend{t.open(), t.open()}
	t.needOrder(clients[0])
	key := t.key("x")
	last := driver.Token(0)
	for i := range 8 {
		client := clients[i/2%2]
		g := t.grant(client, t.request(key))
		t.rises(last, g.Token)
		last = g.Token
		t.release(client, g)
	}
}

func tokensRiseAfterExpiry(t *trial) {
	a, b := t.open(), t.open()
	t.needOrder(a)
	key := t.key("x")
	first := t.expired(a, t.request(key))
	second := t.expired(b, t.request(key))
	t.rises(first.Token, second.Token)
	t.rises(second.Token, t.grantAtLast(a, t.request(key)).Token)
}

func tokensRiseAfterForce(t *trial) {
	a, b := t.open(), t.open()
	t.needOrder(a)
	inspector := t.needOperator(b)
	key := t.key("x")
	g := t.grant(a, t.request(key))
	if err := inspector.ForceRelease(t.ctx, key, g.Token, true); err != nil {
		t.fatalf("force the release of token %d: %v", g.Token, err)
	}
	fenced := g.Token
	if !forgets(b) {
		fenced = t.inspect(inspector, key).Token
		t.rises(g.Token, fenced)
	}
	if got := t.renew(a, g); got != driver.Lost {
		t.fatalf("renewal after a forced release: want lost, got %s", got)
	}
	t.rises(fenced, t.grant(b, t.request(key)).Token)
	t.releaseNot(a, g)
}

func tokensRiseAfterPrune(t *trial) {
	a := t.open()
	t.needOrder(a)
	inspector := t.needOperator(a)
	key, kept := t.key("x"), t.key("held")
	held := t.grant(a, t.request(kept))
	last := driver.Token(0)
	for range 3 {
		g := t.grant(a, t.request(key))
		t.rises(last, g.Token)
		last = g.Token
		t.release(a, g)
		t.prune(inspector, key)
	}
	t.isHeld(a, held)
}

// prune deletes the data of key, which nobody holds.
func (t *trial) prune(i driver.Operator, key driver.Key) {
	t.poll("a released name is pruned", func() bool {
		if _, err := i.Prune(t.ctx, 0); err != nil {
			t.fatalf("prune: %v", err)
		}
		return t.inspect(i, key).Token == 0
	})
}

func (t *trial) inspect(i driver.Operator, key driver.Key) driver.Status {
	s, err := i.Inspect(t.ctx, key)
	if err != nil {
		t.fatalf("inspect %q: %v", key, err)
	}
	return s
}

func tokenStays(t *trial) {
	a, b := t.open(), t.open()
	r := t.request(t.key("x"))
	g := t.grant(a, r)
	for range 3 {
		t.isHeld(a, g)
	}
	if held := t.refuse(b, t.request(r.Key)); held.Token != g.Token && held.Token != 0 {
		t.fatalf("granted token %d; after renewal a refusal reports %d", g.Token, held.Token)
	}
	if again := t.grant(a, r); again.Token != g.Token {
		t.fatalf("granted token %d; after renewal the same nonce gets %d", g.Token, again.Token)
	}
	if i, ok := b.(driver.Operator); ok && !anonymous(b) {
		if s := t.inspect(i, r.Key); s.Token != g.Token {
			t.fatalf("granted token %d; after renewal an inspection shows %d", g.Token, s.Token)
		}
	}
	t.release(a, g)
}
