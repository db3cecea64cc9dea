package check

import (
	"cmp"
	"slices"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// serverOrder checks that each grant of a name comes after the previous grant has ended. A grant ends by a release,
// by a forced release, or by expiry on the store's clock. A release may make the next grant in the same step.
// If the store has an audit, serverOrder reads it. For every store, serverOrder also orders the grants by token.
// For each grant there must be an instant between its request and its answer at which the previous grant may have
// ended.
func (b *book) serverOrder() *Verdict {
	v := &Verdict{ID: "S1", Property: "grants of a name do not overlap in the store's order", Need: true}
	for _, c := range b.Audit {
		if c.Step() != history.Grant {
			continue
		}
		v.Judged++
		if before := b.byTry[b.tryOf[c.OldNonce]]; c.OldNonce != "" && c.OldExpires > c.At && (before == nil || !before.releaseSent(c.At)) {
			v.broken("%s: token %d was granted %d µs before token %d had expired", c.Name, c.Token, c.OldExpires-c.At, c.OldToken)
		}
	}
	for _, name := range b.names() {
		earliest := int64(0)
		var before *attempt
		for _, a := range b.inOrder(name) {
			v.Judged++
			if earliest = max(earliest, a.asked); earliest > a.granted {
				v.broken("%s: token %d was granted %d ns before token %d could have ended", name, a.token, earliest-a.granted, before.token)
				earliest = a.granted
			}
			earliest, before = max(earliest, b.yields(a)), a
		}
	}
	return v
}

// tokenOrder checks that every token is larger than all earlier tokens, and that no token has two holders.
func (b *book) tokenOrder() *Verdict {
	v := &Verdict{ID: "S2", Property: "tokens rise with each grant, through pruning and restarts", Need: true}
	newest := map[string]int64{}
	for _, c := range b.Audit {
		if c.Step() != history.Grant {
			continue
		}
		v.Judged++
		if c.Token <= newest[c.Name] {
			v.broken("%s: token %d was granted after %d", c.Name, c.Token, newest[c.Name])
		}
		newest[c.Name] = max(newest[c.Name], c.Token)
	}
	for _, name := range b.names() {
		owner := map[[2]int64]string{}
		for _, a := range b.inOrder(name) {
			v.Judged++
			key := [2]int64{a.token, int64(a.era)}
			if first, ok := owner[key]; ok || a.token <= 0 {
				v.broken("%s: token %d was granted to %q and to %q", name, a.token, first, a.try)
			}
			owner[key] = a.try
		}
	}
	return v
}

// realTime checks the tokens of two requests: if the second was sent after the first was granted, the second gets the larger
// token.
func (b *book) realTime() *Verdict {
	v := &Verdict{ID: "S2'", Property: "a request that is sent after a grant gets a larger token", Need: true}
	for _, name := range b.names() {
		asking := b.inOrder(name)
		answered := slices.Clone(asking)
		slices.SortStableFunc(answered, func(x, y *attempt) int { return cmp.Compare(x.granted, y.granted) })
		slices.SortStableFunc(asking, func(x, y *attempt) int { return cmp.Compare(x.asked, y.asked) })
		next := 0
		var newest *attempt
		for _, a := range asking {
			for ; next < len(answered) && answered[next].granted < a.asked; next++ {
				if now := answered[next]; newest == nil || now.era > newest.era || now.token > newest.token {
					newest = now
				}
			}
			if newest == nil || a.era != newest.era {
				continue
			}
			v.Judged++
			if a.token <= newest.token {
				v.broken("%s: %s got token %d after %s had got token %d", name, a.try, a.token, newest.try, newest.token)
			}
		}
	}
	return v
}

// holderView checks that no two holders trust their leases at the same moment. The result explained counts the overlaps
// that are explained by faults.
func (b *book) holderView() (v *Verdict, explained int) {
	v = &Verdict{ID: "S4", Property: "no two holders trust their leases at the same moment", Need: true}
	for _, name := range b.names() {
		var longest *attempt
		for _, a := range b.grants[name] {
			v.Judged++
			if b.end(a) <= a.granted { // its trust was over when the answer arrived
				continue
			}
			if longest != nil && b.end(longest) > a.granted {
				// The holder of the smaller token lost the name. Its grant may have ended before the answer arrived.
				yields := b.yields(longest)
				if a.token < longest.token && a.era == longest.era {
					yields = b.yields(a)
				}
				if yields <= a.granted {
					explained++
				} else {
					v.broken("%s: token %d of %s was trusted for %d ns after token %d was granted to %s", name, longest.token, longest.try, b.end(longest)-a.granted, a.token, a.try)
				}
			}
			if longest == nil || b.end(a) > b.end(longest) {
				longest = a
			}
		}
	}
	return v, explained
}
