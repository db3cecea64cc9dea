package check

import "github.com/rowlock/rowlock/compat_test/torture/history"

// oneToken: an acquisition has one token, however often its request was sent.
func (b *book) oneToken() *Verdict {
	v := &Verdict{ID: "S11", Property: "one acquisition gets one token", Need: true}
	type lease struct {
		nonce string
		token int64
	}
	grants, freed := map[string][]history.Change{}, map[lease]int64{} // when, in the store's order of its name
	for _, c := range b.Audit {
		switch c.Step() {
		case history.Grant:
			grants[c.Nonce] = append(grants[c.Nonce], c)
		case history.Free:
			freed[lease{c.OldNonce, c.OldToken}] = c.Seq
		}
	}
	// The instant of a change may be that at which its statement began, to wait for the release.
	releasedBefore := func(a *attempt, c history.Change) bool {
		at := freed[lease{a.nonce, a.token}]
		return a.release != 0 && a.evicted == 0 && at != 0 && at < c.Seq
	}
	owner := map[string]string{}
	for _, a := range b.attempts {
		if !a.held {
			continue
		}
		v.Judged++
		if first, ok := owner[a.nonce]; ok {
			v.broken("%s: one nonce is of %s and of %s", a.name, first, a.try)
		}
		owner[a.nonce] = a.try
		if !b.Meta.Expect.Audited {
			continue
		}
		told := false
		for _, c := range grants[a.nonce] {
			switch {
			case c.Token == a.token:
				told = true
			case c.Token < a.token: // unanswered, and over before the next request: S1 judges that
			case a.lost.At == 0 && !a.letGo(c.At) && !releasedBefore(a, c):
				v.broken("%s: %s was told token %d, and the store granted it %d", a.name, a.try, a.token, c.Token)
			case freed[lease{c.Nonce, c.Token}] == 0 && b.undisturbed(a, c):
				v.broken("%s: token %d was granted to %s, who had let go of token %d, and nobody took it back", a.name, c.Token, a.try, a.token)
			}
		}
		if !told {
			v.broken("%s: %s was told token %d, which the store never granted it", a.name, a.try, a.token)
		}
	}
	return v
}

// undisturbed says whether nothing was in the way of whoever was to take c back, by which a late duplicate of a request of a's
// was granted: one that arrives when its lease has ended is a request like any other to the store.
func (b *book) undisturbed(a *attempt, c history.Change) bool {
	from := c.At*microsecond - a.grant.Wall + a.grant.At
	death, died := b.deaths[a.worker]
	return b.disturbed(from, from+int64(b.Meta.TTL)) == 0 && (!died || death > from+int64(b.Meta.TTL))
}
