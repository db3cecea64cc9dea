package check

import (
	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// staleWrites: once a newer holder has written, an older one never does.
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

// noLostUpdate: whoever wrote had read what was written before.
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

// controlLosses counts the updates that the chain without a fence has lost.
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

// oneSealer: a token of a resource is one holder's.
func (b *book) oneSealer() *Verdict {
	v := &Verdict{ID: "S9", Property: "a token writes for one holder only", Need: true}
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

// answers: what was told to be committed is there, once and in each of its resources; what was told not to be is not.
// A write whose answer is missing is settled by the ledger either way. undecided counts those.
func (b *book) answers() (v *Verdict, undecided, applied int) {
	v = &Verdict{ID: "W", Property: "a write is committed if and only if its holder was told so", Need: true}
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
			v.broken("%s: worker %d was told that a write is committed, and it is not there", e.Resource, e.Worker)
		case e.Outcome != history.OK && len(at) > 0:
			v.broken("%s: worker %d was told that a write was not committed (%s), and it is there", e.Resource, e.Worker, e.Outcome)
		default:
			v.whole(e, at, want)
		}
	}
	for value, e := range open { // killed before the answer
		v.Judged++
		v.whole(e, found[value], width(e.Resource))
	}
	return v, undecided, applied
}

// whole: all of a transaction is there, once, or nothing.
func (v *Verdict) whole(e history.Event, at map[string]int, want int) {
	if len(at) != 0 && len(at) != want {
		v.broken("%s: half of a transaction of worker %d is there", e.Resource, e.Worker)
	}
	for resource, n := range at {
		if n != 1 {
			v.broken("%s: one write of worker %d is there %d times", resource, e.Worker, n)
		}
	}
}

// width is how many resources a transaction writes whose first one this is.
func width(resource string) int {
	if resource == "left" {
		return 2
	}
	return 1
}
