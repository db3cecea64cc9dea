package check

import "github.com/rowlock/rowlock/compat_test/torture/history"

// oneToken checks that an acquisition gets one token, even if its request was sent several times.
func (b *book) oneToken() *Verdict {
	v := &Verdict{ID: "S11", Property: "one acquisition gets one token", Need: true}
	type lease struct {
		nonce string
		token int64
	}
	// The map freed contains where each lease ended: the number of that change in the store's list of changes to the
	// name.
	grants, freed := map[string][]history.Change{}, map[lease]int64{}
	for _, c := range b.Audit {
		switch c.Step() {
		case history.Grant:
			grants[c.Nonce] = append(grants[c.Nonce], c)
		case history.Free:
			freed[lease{c.OldNonce, c.OldToken}] = c.Seq
		}
	}
	// This compares the numbers of changes and not their times. The time of a grant may be too early: its statement may
	// have read the clock first, and then waited for the release.
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
			v.broken("%s: %s and %s have the same nonce", a.name, first, a.try)
		}
		owner[a.nonce] = a.try
		if !b.Meta.Expect.Audited || a.name == history.Board {
			continue
		}
		told := false
		for _, c := range grants[a.nonce] {
			switch {
			case c.Token == a.token:
				told = true
			case c.Token < a.token: // this grant had no answer and ended before the next request, so it is checked by property S1
			case a.lost.At == 0 && !a.releaseSent(c.At) && !releasedBefore(a, c):
				v.broken("%s: %s received token %d, but the store granted it %d", a.name, a.try, a.token, c.Token)
			case freed[lease{c.Nonce, c.Token}] == 0 && b.undisturbed(a, c):
				v.broken("%s: token %d was granted to %s after it had released token %d, and was never released", a.name, c.Token, a.try, a.token)
			}
		}
		if !told {
			v.broken("%s: %s received token %d, which the store never granted it", a.name, a.try, a.token)
		}
	}
	return v
}

// undisturbed reports whether no fault prevented the release of the grant c. The store made this grant for a late
// duplicate of a's request. After the lease of the first grant has ended, the store cannot tell such a duplicate from a
// new request.
func (b *book) undisturbed(a *attempt, c history.Change) bool {
	from := c.At*microsecond - a.grant.Wall + a.grant.At
	death, died := b.deaths[a.worker]
	return b.disturbed(from, from+int64(b.Meta.TTL)) == 0 && (!died || death > from+int64(b.Meta.TTL))
}
