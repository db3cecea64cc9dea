package check

import (
	"cmp"
	"slices"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// done reports whether a call of Once reported that it has done its tick.
func (a *attempt) done() bool { return a.tick != 0 && a.released.Outcome == history.OK }

// repeats reports whether the call a does a tick again that an earlier call has reported as done. The parameter earlier
// is that earlier call. When a tick is done, all earlier ticks count as done, too. The result is false if a fault may
// explain the repetition, or if the name may have been pruned in between.
func (b *book) repeats(a, earlier *attempt) bool {
	if earlier == nil || a == earlier || a.tick > earlier.tick {
		return false
	}
	for _, f := range b.faults {
		if slices.Contains(b.Meta.Expect.Forget, f.kind) && f.end >= earlier.release && f.begin <= a.granted {
			return false
		}
	}
	return !slices.ContainsFunc(b.prunings, func(f fault) bool { return f.end >= earlier.release && f.begin <= a.granted })
}

// ticked returns an empty verdict for a property of ticks.
func (b *book) ticked(id, property string) *Verdict {
	v := &Verdict{ID: id, Property: property, Need: true}
	if !b.ticks {
		v.NotSeen = "the store keeps no ticks"
	}
	return v
}

// doneOnce checks the effects of the job: after a tick was reported as done, nobody writes for it again.
func (b *book) doneOnce() *Verdict {
	v := b.ticked("S15", "after a tick is done, its job never writes again")
	writer := map[int64]*attempt{}
	for _, e := range b.Events {
		if e.Kind == history.Write && e.Name == once {
			writer[e.Value] = b.byTry[e.Try]
		}
	}
	var last *attempt
	wrote := map[*attempt]bool{}
	for _, l := range b.Ledger {
		a := writer[l.Value]
		if a == nil || l.Resource != once {
			continue
		}
		if v.Judged++; wrote[a] || b.repeats(a, last) {
			v.broken("%s: token %d wrote for a tick that was already done", once, l.Token)
		}
		if wrote[a] = true; a.done() {
			last = a
		}
	}
	return v
}

// doneForGood checks what the calls of Once decided. After a tick was reported as done, nobody begins to do it again.
// If a call learns that its tick is done, an earlier call must have done this tick or a later one. The job of the
// earlier call must have written, and the earlier call must have sent its release.
func (b *book) doneForGood() *Verdict {
	v := b.ticked("S16", "a tick is done for good, and only if its job ran")
	var last *attempt
	for _, a := range b.inOrder(once) {
		if v.Judged++; b.repeats(a, last) {
			v.broken("%s: %s began with token %d to do a tick that %s had done", once, a.try, a.token, last.try)
		}
		if a.done() {
			last = a
		}
	}
	ended := slices.DeleteFunc(slices.Clone(b.grants[once]), func(a *attempt) bool { return !a.wrote || a.release == 0 })
	slices.SortFunc(ended, func(x, y *attempt) int { return cmp.Compare(x.release, y.release) })
	told := slices.DeleteFunc(slices.Clone(b.attempts), func(a *attempt) bool { return a.refused.Outcome != history.Done })
	slices.SortFunc(told, func(x, y *attempt) int { return cmp.Compare(x.refused.At, y.refused.At) })
	newest := int64(0)
	for _, a := range told {
		for ; len(ended) > 0 && ended[0].release <= a.refused.At; ended = ended[1:] {
			newest = max(newest, ended[0].tick)
		}
		if v.Judged++; a.tick > newest {
			v.broken("%s: %s learned that its tick was done, and nobody had done it", once, a.try)
		}
	}
	return v
}
