package check

import (
	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// staleWrites checks that an older holder never writes after a newer holder has written.
func (b *book) staleWrites() *Verdict {
	v := &Verdict{ID: "S5", Property: "no stale write is committed", Need: true}
	type end struct {
		nonce string
		token int64
		past  map[string]bool
	}
	ends := map[string]*end{}
	for _, l := range b.Ledger {
		if !fenced(l.Resource) {
			continue
		}
		v.Judged++
		e := ends[l.Resource]
		if e == nil {
			e = &end{past: map[string]bool{}}
			ends[l.Resource] = e
		}
		if l.Nonce != e.nonce {
			if e.past[l.Nonce] || l.Token < e.token && !b.Meta.Expect.Minted {
				v.broken("%s: token %d wrote after token %d", l.Resource, l.Token, e.token)
			}
			e.past[e.nonce] = true
		}
		e.nonce, e.token = l.Nonce, max(e.token, l.Token)
	}
	return v
}

// noLostUpdate checks that each writer had read the previous write of the chain. A writer that had not read the
// previous write has overwritten an update that it never saw.
func (b *book) noLostUpdate() *Verdict {
	v := &Verdict{ID: "S5'", Property: "no update is lost", Need: true}
	last := map[string]int64{}
	for _, l := range b.Ledger {
		if !fenced(l.Resource) {
			continue
		}
		v.Judged++
		if l.Read != last[l.Resource] {
			v.broken("%s: worker %d with token %d had not read the link before", l.Resource, l.Worker, l.Token)
		}
		last[l.Resource] = l.Value
	}
	return v
}

// controlLosses counts the updates that were lost on the chain without a fence.
func (b *book) controlLosses() (lost, total int) {
	last := int64(0)
	for _, l := range b.Ledger {
		if fenced(l.Resource) {
			continue
		}
		if l.Read != last {
			lost++
		}
		last = l.Value
		total++
	}
	return lost, total
}

// oneSealer checks that each token of a resource belongs to one holder.
func (b *book) oneSealer() *Verdict {
	v := &Verdict{ID: "S9", Property: "all writes with one token are by the same holder", Need: true}
	type key struct {
		resource string
		token    int64
	}
	owner := map[key]string{}
	for _, l := range b.Ledger {
		if !fenced(l.Resource) {
			continue
		}
		v.Judged++
		k := key{l.Resource, l.Token}
		if first, ok := owner[k]; ok && first != l.Nonce {
			v.broken("%s: token %d has two holders", l.Resource, l.Token)
		}
		owner[k] = l.Nonce
	}
	return v
}

// answers checks that each write reported as committed is in the ledger, exactly once for each resource of the write. A write
// reported as not committed must be absent. For a write without an answer, the ledger decides. The result undecided
// counts the writes without an answer, and applied counts those of them that are in the ledger.
func (b *book) answers() (v *Verdict, undecided, applied int) {
	v = &Verdict{ID: "W", Property: "a write is committed if and only if the answer says so", Need: true}
	found := map[int64]map[string]int{}
	for _, l := range b.Ledger {
		if found[l.Value] == nil {
			found[l.Value] = map[string]int{}
		}
		found[l.Value][l.Resource]++
	}
	open := map[int64]history.Event{}
	for _, e := range b.Events {
		switch e.Kind {
		case history.Write:
			open[e.Value] = e
			continue
		case history.Wrote:
			delete(open, e.Value)
		default:
			continue
		}
		v.Judged++
		at := found[e.Value]
		switch want := width(e.Resource); {
		case e.Outcome == history.Unknown:
			undecided++
			if len(at) > 0 {
				applied++
			}
			v.whole(e, at, want)
		case e.Outcome == history.OK && len(at) != want:
			v.broken("%s: a write of worker %d was reported as committed, but is not in the ledger", e.Resource, e.Worker)
		case e.Outcome != history.OK && len(at) > 0:
			v.broken("%s: a write of worker %d was reported as not committed (%s), but is in the ledger", e.Resource, e.Worker, e.Outcome)
		default:
			v.whole(e, at, want)
		}
	}
	for value, e := range open { // the worker was killed before it received the answer, so both outcomes are allowed
		v.Judged++
		v.whole(e, found[value], width(e.Resource))
	}
	return v, undecided, applied
}

// whole checks that the ledger has either all writes of a transaction, each exactly once, or none of them.
func (v *Verdict) whole(e history.Event, at map[string]int, want int) {
	if len(at) != 0 && len(at) != want {
		v.broken("%s: the ledger has only part of a transaction of worker %d", e.Resource, e.Worker)
	}
	for resource, n := range at {
		if n != 1 {
			v.broken("%s: the ledger has one write of worker %d %d times", resource, e.Worker, n)
		}
	}
}

// width returns how many resources a transaction writes. The parameter resource is the first of them.
func width(resource string) int {
	if resource == "left" {
		return 2
	}
	return 1
}
