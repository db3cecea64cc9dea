package locktest

import (
	"strings"
	"time"
)

var refusalCases = []testCase{
	{
		name:    "refusal-tells-who",
		promise: "A refusal has the holder, the note and the token of the grant, byte for byte.",
		run:     refusalTellsWho,
	},
	{
		name:    "refusal-tells-until-when",
		promise: "A refusal says how long ago the name was granted, and how soon it becomes free without a renewal. The second time is at most the TTL.",
		run:     refusalTellsUntilWhen,
	},
}

func refusalTellsWho(t *trial) {
	a, b := t.open(), t.open()
	t.needRecord(b)
	r := t.request(t.key("x"))
	for _, text := range []string{
		"nightly@db-1:4711",
		"it's \"quoted\", \\escaped\\, %s and $1 and ?",
		"Grüße, 世界 🔒 e\u0301\n\ttabbed ",
		strings.Repeat("long ", 51),
		"",
	} {
		r.Nonce = t.request(r.Key).Nonce
		r.Holder, r.Note = text, text+text
		g := t.grant(a, r)
		held := t.refuse(b, t.request(r.Key))
		if held.Holder != r.Holder || held.Note != r.Note {
			t.fatalf("held by %q for %q; a refusal reports %q for %q", r.Holder, r.Note, held.Holder, held.Note)
		}
		if held.Token != g.Token {
			t.fatalf("held with token %d; a refusal reports %d", g.Token, held.Token)
		}
		t.release(a, g)
	}
}

func refusalTellsUntilWhen(t *trial) {
	a, b := t.open(), t.open()
	t.needTerm(b)
	sent := time.Now()
	g := t.grant(a, t.request(t.key("x")))
	held := t.refuse(b, t.request(g.Key))
	if held.ExpiresIn <= 0 || held.ExpiresIn > g.TTL {
		t.fatalf("the lease was granted for %s, but a refusal says that it ends in %s", g.TTL, held.ExpiresIn)
	}
	if most := time.Since(sent) + slack; held.Since < 0 || held.Since > most {
		t.fatalf("the lease was granted %s ago at most, but a refusal says %s ago", most, held.Since)
	}
}
