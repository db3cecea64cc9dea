package check

import (
	"slices"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

const microsecond = 1000

// containment: the trust of a holder ends before the store's lease does.
func (b *book) containment() *Verdict {
	v, ok := b.audited("S3", "trust ends before the store's lease", "; see S4")
	if !ok {
		return v
	}
	granted := map[string][]history.Change{}
	for _, c := range b.Audit {
		if s := c.Step(); s == history.Grant || s == history.Renew {
			granted[c.Nonce] = append(granted[c.Nonce], c)
		}
	}
	for _, a := range b.attempts {
		for _, e := range a.trust {
			v.Judged++
			end, known := int64(0), false
			for _, c := range granted[a.nonce] {
				if c.At*microsecond <= e.Wall+clockGrain*microsecond { // what came later this answer did not know of
					end, known = max(end, c.Expires), true
				}
			}
			switch {
			case a.nonce == "":
			case !known:
				v.broken("%s: token %d of %s is not in the store's own history", a.name, a.token, a.try)
			case e.UntilWall() > end*microsecond:
				v.broken("%s: token %d is trusted for %d ns longer than the store grants", a.name, a.token, e.UntilWall()-end*microsecond)
			}
		}
	}
	return v
}

// ownRelease: nothing but the holder, the janitor, or force ends a grant.
func (b *book) ownRelease() *Verdict {
	v, ok := b.audited("S6", "nobody's grant is ended by another's release", "")
	if !ok {
		return v
	}
	for c := range b.of(history.Free) {
		v.Judged++
		a := b.byTry[b.tryOf[c.OldNonce]]
		switch {
		case a == nil:
			v.broken("%s: token %d was released, and nobody asked for it", c.Name, c.OldToken)
		case a.evicted == 0 && !a.letGo(c.At):
			v.broken("%s: token %d was released before its holder %s did", c.Name, c.OldToken, a.try)
		}
	}
	return v
}

// letGo says whether the holder had asked by then for the end of its lease, which it does also with one that was lost. What
// was given up is taken back by the library.
func (a *attempt) letGo(at int64) bool {
	return !a.held || a.release != 0 && a.release-a.grant.At+a.grant.Wall <= (at+clockGrain)*microsecond
}

// The clock of SQLite counts milliseconds, and rounds. Microseconds.
const clockGrain = 2000

// ownRenewal: a renewal revives nothing, and a loss that was told is never taken back.
func (b *book) ownRenewal() *Verdict {
	v := &Verdict{ID: "S7", Property: "nothing revives a lease that has ended", Need: true}
	ttl := b.Meta.TTL.Microseconds()
	for c := range b.of(history.Renew) {
		v.Judged++
		a := b.byTry[b.tryOf[c.Nonce]]
		sent := c.Expires - ttl // by the store's clock, as the statement read it
		if c.OldExpires > sent || a == nil {
			continue
		}
		// A request to acquire that was sent twice may arrive late, and count its own lease anew: nobody has had the name
		// since, and its holder trusts in it no longer, or has had no answer yet. A renewal must not.
		if slices.IndexFunc(a.trust, func(e history.Event) bool { return e.Wall <= sent*microsecond }) < 0 {
			continue
		}
		for _, e := range a.trust {
			if e.Kind == history.Renewed && e.Wall >= sent*microsecond {
				v.broken("%s: token %d was renewed %d µs after it had expired", c.Name, c.Token, sent-c.OldExpires)
				break
			}
		}
	}
	for _, a := range b.attempts {
		told := int64(never)
		if a.lost.At != 0 {
			told = a.lost.At
		}
		for _, e := range a.seen {
			v.Judged++
			switch {
			case e.Outcome == history.Ended:
				told = min(told, e.At)
			case e.At > told:
				v.broken("%s: token %d was trusted again after its holder %s had been told of its loss", a.name, a.token, a.try)
			}
		}
	}
	return v
}

// noLateTrust: a lease that is asked after its deadline says so.
func (b *book) noLateTrust() *Verdict {
	v := &Verdict{ID: "S8", Property: "a lease that is asked after its deadline says that it is lost", Need: true}
	for _, a := range b.attempts {
		for _, e := range a.seen {
			v.Judged++
			if e.Late > 0 {
				v.broken("%s: token %d was trusted %d ns after its deadline", a.name, a.token, e.Late)
			}
		}
	}
	return v
}

// pruned: rows were deleted and made again; S2 says that the tokens went on.
func (b *book) pruned() *Verdict {
	v := &Verdict{ID: "S10", Property: "rows of free locks are forgotten, those of held ones are not", Need: true}
	if !b.Meta.Expect.Pruned || !b.Meta.Expect.Audited {
		v.NotSeen = "nothing is pruned, or nothing written down; see S2"
		return v
	}
	for c := range b.of(history.Prune) {
		v.Judged++
		if c.OldNonce != "" && c.OldExpires > c.At {
			v.broken("%s: the row of token %d was pruned while it was held", c.Name, c.OldToken)
		}
	}
	return v
}

// honesty: the backend claims what is expected of it, and no more.
func (b *book) honesty() *Verdict {
	v := &Verdict{ID: "S12", Property: "the backend claims what it keeps", Need: true}
	for _, e := range b.Events {
		if e.Kind != history.Start {
			continue
		}
		v.Judged++
		if e.Name != b.Meta.Expect.Claims || e.Outcome != b.Meta.Expect.Tokens {
			v.broken("%q claims %s tokens; expected were %s ones of %q", e.Name, e.Outcome, b.Meta.Expect.Tokens, b.Meta.Expect.Claims)
		}
	}
	return v
}
