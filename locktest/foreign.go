package locktest

import "github.com/rowlock/rowlock/driver"

var foreignCases = []testCase{
	{
		name:    "renewal-compares-nonce",
		promise: "Renewal with another nonce, even with the right token, returns lost and extends nothing.",
		run:     func(t *trial) { foreignRenewal(t, otherNonce) },
	},
	{
		name:    "renewal-compares-token",
		promise: "Renewal with another token, even with the right nonce, returns lost and extends nothing.",
		run:     func(t *trial) { foreignRenewal(t, otherToken) },
	},
	{
		name:    "release-compares-nonce",
		promise: "Release with another nonce, even with the right token, returns not held and frees nothing.",
		run:     func(t *trial) { foreignRelease(t, otherNonce) },
	},
	{
		name:    "release-compares-token",
		promise: "Release with another token, even with the right nonce, returns not held and frees nothing.",
		run:     func(t *trial) { foreignRelease(t, otherToken) },
	},
}

func otherNonce(_ *trial, g driver.Grant) []driver.Grant {
	g.Nonce = driver.NewNonce()
	return []driver.Grant{g}
}

func otherToken(t *trial, g driver.Grant) []driver.Grant {
	if g.Token == 0 {
		t.skipf("the backend grants without tokens")
	}
	older, newer := g, g
	older.Token--
	newer.Token++
	if older.Token == 0 { // a zero token would match any token
		return []driver.Grant{newer}
	}
	return []driver.Grant{older, newer}
}

// foreignRenewal uses the holder's own client. If grants end with a session, a renewal by another client would be
// rejected because of its session.
func foreignRenewal(t *trial, alter func(*trial, driver.Grant) []driver.Grant) {
	a, b := t.open(), t.open()
	g := t.grant(a, t.request(t.key("x")))
	for _, foreign := range alter(t, g) {
		foreign.TTL = 3 * steady
		t.isLost(a, foreign, "a grant with a nonce or token that is not the holder's")
	}
	if held := t.refuse(b, t.request(g.Key)); held.ExpiresIn > steady {
		t.fatalf("a renewal returned lost but extended the lease: it ends in %s", held.ExpiresIn)
	}
	t.isHeld(a, g)
}

func foreignRelease(t *trial, alter func(*trial, driver.Grant) []driver.Grant) {
	a, b := t.open(), t.open()
	g := t.grant(a, t.request(t.key("x")))
	for _, foreign := range alter(t, g) {
		t.releaseNot(a, foreign)
	}
	t.refuse(b, t.request(g.Key))
	t.isHeld(a, g)
	t.release(a, g)
}
