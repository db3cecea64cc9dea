package check

import (
	"time"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// inFlight is a write without an answer yet. The write's transaction may have locked the row of the fence.
type inFlight struct {
	of       *attempt
	from, to int64
}

func (b *book) inFlight() (all []inFlight) {
	open := map[string]int64{}
	for _, e := range b.Events {
		switch e.Kind {
		case history.Write:
			open[e.Try] = e.At
		case history.Wrote:
			if from, sent := open[e.Try]; sent && fenced(e.Name) {
				all = append(all, inFlight{b.byTry[e.Try], from, e.At})
			}
			delete(open, e.Try)
		}
	}
	for try, from := range open {
		if a := b.byTry[try]; fenced(a.name) {
			all = append(all, inFlight{a, from, never})
		}
	}
	return all
}

// heldUp checks transactions whose worker is suspended, cut off or killed before the commit. A transaction of such a
// worker may block the next holder's seal only while the fault lasts. The result took contains how long after each
// fault began the next holder could continue.
func (b *book) heldUp() (v *Verdict, took []time.Duration) {
	v = &Verdict{ID: "L4", Property: "a transaction blocks the next holder only during a fault"}
	for _, w := range b.inFlight() {
		for _, f := range b.faults {
			disturbs := f.kind == faultStop || f.kind == faultCut || f.kind == faultHalfOpen || f.kind == faultKill
			if !disturbs || f.victim != 0 && f.victim != w.of.worker || w.from >= f.begin || w.to <= f.begin {
				continue
			}
			bound := f.end + int64(b.Meta.TTL+b.Meta.Expect.Crash)
			next := b.next(w.of.name, f.begin)
			limit := bound + b.disturbed(f.end, bound)
			late := next == nil || next.granted > limit
			if next == nil && b.ended <= limit || late && b.unwanted(w.of.name, f.begin, limit, next) {
				continue
			}
			v.Judged++
			if late {
				v.broken("%s: no next holder in time after token %d, whose transaction was open when this fault hit its worker: %s", w.of.name, w.of.token, f.kind)
				continue
			}
			took = append(took, time.Duration(next.granted-f.begin))
		}
	}
	return v, took
}

// overtaken returns one number for each waiter of the relay that no fault disturbed: how many later requests were granted before
// that waiter.
func (b *book) overtaken() (counts []int) {
	of := b.grants[relay]
	for i, a := range of {
		if !b.calm(a.asked-int64(b.Meta.TTL), a.granted) {
			continue
		}
		n := 0
		for j := i - 1; j >= 0 && of[j].granted > a.asked; j-- {
			if of[j].asked > a.asked {
				n++
			}
		}
		counts = append(counts, n)
	}
	return counts
}

// calm reports whether all faults between two instants affected single holders only.
func (b *book) calm(from, to int64) bool {
	for _, f := range b.faults {
		if f.kind != faultEvict && f.begin < to && f.end > from {
			return false
		}
	}
	return true
}

// inTurn checks the order of waiters. No undisturbed waiter may be overtaken more often than the store allows.
func (b *book) inTurn() *Verdict {
	v := &Verdict{ID: "L5", Property: "no undisturbed waiter is overtaken repeatedly"}
	if b.Meta.Expect.Overtaken == 0 {
		v.NotSeen = "the store promises no order; the figures say by how many later requests a waiter was overtaken"
		return v
	}
	for _, n := range b.overtaken() {
		if v.Judged++; n > b.Meta.Expect.Overtaken {
			v.broken("%s: %d later requests were granted first", relay, n)
		}
	}
	return v
}
