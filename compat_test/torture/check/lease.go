package check

import (
	"slices"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

const microsecond = 1000

// containment checks that a holder stops trusting its lease before the lease ends in the store.
func (b *book) containment() *Verdict {
	v, ok := b.audited("S3", "trust ends before the lease ends in the store", "; see S4")
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
		if a.name == history.Board {
			continue
		}
		for _, e := range a.trust {
			v.Judged++
			end, known := int64(0), false
			for _, c := range granted[a.nonce] {
				// A change that the store made after the worker recorded the answer cannot belong to this answer.
				if c.At*microsecond <= e.Wall+clockGrain*microsecond {
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

// ownRelease checks who releases grants. A grant may be released by its holder, by the library if the caller gave up,
// or by a forced release.
func (b *book) ownRelease() *Verdict {
	v, ok := b.audited("S6", "a release ends only the grant of its own holder", "")
	if !ok {
		return v
	}
	for c := range b.of(history.Free) {
		v.Judged++
		a := b.byTry[b.tryOf[c.OldNonce]]
		switch {
		case a == nil:
			v.broken("%s: token %d was released, and no acquisition received it", c.Name, c.OldToken)
		case a.evicted == 0 && !a.releaseSent(c.At):
			v.broken("%s: token %d was released before its holder %s did", c.Name, c.OldToken, a.try)
		}
	}
	return v
}

// releaseSent reports whether the holder of a had sent its release by the given instant. A holder also releases a lease
// that it has lost. If the caller gave up, the library itself sends the release.
func (a *attempt) releaseSent(at int64) bool {
	return !a.held || a.release != 0 && a.release-a.grant.At+a.grant.Wall <= (at+clockGrain)*microsecond
}

// clockGrain is how much the store's clock may differ from the time of an event, in microseconds. It is this large
// because SQLite's clock rounds to milliseconds.
const clockGrain = 2000

// ownRenewal checks that no renewal revives an expired lease, and that a lease reported as lost stays lost.
func (b *book) ownRenewal() *Verdict {
	v := &Verdict{ID: "S7", Property: "a lease that has ended never becomes valid again", Need: true}
	ttl := b.Meta.TTL.Microseconds()
	for c := range b.of(history.Renew) {
		v.Judged++
		a := b.byTry[b.tryOf[c.Nonce]]
		sent := c.Expires - ttl // when the statement was executed, on the store's clock
		if c.OldExpires > sent || a == nil {
			continue
		}
		// A duplicate of an acquire request may arrive late and extend the lease of the first request. This is harmless: no other
		// process has held the name since. The holder has no answer yet, or no longer trusts the lease. A renewal must not extend
		// an expired lease.
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
				v.broken("%s: token %d was trusted again after the library had reported its loss to its holder %s", a.name, a.token, a.try)
			}
		}
	}
	return v
}

// noLateTrust checks that after its deadline, a lease reports that it is lost.
func (b *book) noLateTrust() *Verdict {
	v := &Verdict{ID: "S8", Property: "after its deadline, a lease reports that it is lost", Need: true}
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

// pruned checks that only rows of free locks are deleted. The property S2 checks that tokens still rise when such a row is
// inserted again.
func (b *book) pruned() *Verdict {
	v := &Verdict{ID: "S10", Property: "pruning deletes only rows of free locks", Need: true}
	if !b.Meta.Expect.Pruned || !b.Meta.Expect.Audited {
		v.NotSeen = "no rows are pruned, or the store has no audit; see S2"
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

// honesty checks that the backend claims exactly the expected capabilities.
func (b *book) honesty() *Verdict {
	v := &Verdict{ID: "S12", Property: "the backend's capabilities are those of its store", Need: true}
	for _, e := range b.Events {
		if e.Kind != history.Start {
			continue
		}
		v.Judged++
		if e.Name != b.Meta.Expect.Claims || e.Outcome != b.Meta.Expect.Tokens {
			v.broken("%q claims %s tokens, but %s tokens of %q were expected", e.Name, e.Outcome, b.Meta.Expect.Tokens, b.Meta.Expect.Claims)
		}
	}
	return v
}
