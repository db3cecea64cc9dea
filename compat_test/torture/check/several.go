package check

import (
	"cmp"
	"slices"
	"strings"
)

// wholeCalls checks calls that report that they hold all of their names. At that moment, the call must hold each of the names, and
// nobody else may hold any of them.
func (b *book) wholeCalls() *Verdict {
	v := &Verdict{ID: "S13", Property: "a call that reports all of its names holds each of them", Need: true}
	for _, e := range b.reports {
		for _, a := range b.calls[e.Try] {
			v.Judged++
			if !a.holds(e.At) {
				v.broken("%s: %s reported all of its names, and did not hold this one", a.name, e.Try)
				continue
			}
			for _, other := range b.grants[a.name] {
				if other != a && other.granted <= e.At && e.At < other.until && e.At < b.yields(other) && e.At < b.yields(a) {
					v.broken("%s: %s reported all of its names, and %s held this one, too", a.name, e.Try, other.try)
				}
			}
		}
	}
	return v
}

// holds reports whether the worker of a had the lease at an instant, and knew of no loss.
func (a *attempt) holds(at int64) bool {
	return a.held && a.granted <= at && (a.lost.At == 0 || a.lost.At >= at) && (a.release == 0 || a.release >= at)
}

// slotHolders checks that at any moment at most as many holders trust their leases as there are slots. It counts the
// holders of all slots together. The result largest is the largest number of holders at the same time.
func (b *book) slotHolders() (v *Verdict, largest int) {
	v = &Verdict{ID: "S14", Property: "never more holders than slots trust their leases", Need: true}
	var of, live []*attempt
	for _, name := range b.names() {
		if strings.HasPrefix(name, slot) {
			of = append(of, b.grants[name]...)
		}
	}
	slices.SortStableFunc(of, func(x, y *attempt) int { return cmp.Compare(x.granted, y.granted) })
	for _, a := range of {
		v.Judged++
		live = slices.DeleteFunc(append(live, a), func(o *attempt) bool { return b.end(o) <= a.granted })
		n := 0
		for _, o := range live {
			if b.yields(o) > a.granted {
				n++
			}
		}
		if largest = max(largest, n); n > slots {
			v.broken("%s: with token %d of %s, %d holders trusted their leases", a.name, a.token, a.try, n)
		}
	}
	return v, largest
}
