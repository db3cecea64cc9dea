package check

import (
	"time"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// onBoard returns an empty verdict for a property of the board, which is the lock that readers share and writers
// acquire exclusively.
func (b *book) onBoard(id, property string) *Verdict {
	v := &Verdict{ID: id, Property: property, Need: true}
	if !b.sharing {
		v.NotSeen = "the store grants no shared locks"
	}
	return v
}

// readersOrWriter checks that no reader trusts its lease while a writer trusts its own. The result together is the
// largest number of readers at the same time.
func (b *book) readersOrWriter() (v *Verdict, together int) {
	v = b.onBoard("S17", "no reader and writer trust their leases at the same moment")
	live := b.grants[history.Board]
	var readers []*attempt
	for _, s := range b.shares {
		v.Judged++
		for len(live) > 0 && b.end(live[0]) <= s.asked {
			live = live[1:]
		}
		for _, w := range live {
			if w.granted >= b.end(s) {
				break
			}
			first, second := s, w
			if w.token < s.token && w.era == s.era {
				first, second = w, s
			}
			until := min(b.yields(first), b.end(second))
			if s.token == 0 || s.era != w.era { // the order of the grants is unknown
				until = min(until, b.yields(second))
			}
			if overlap := until - max(s.granted, w.granted); overlap > 0 {
				v.broken("%s: %s with token %d and %s with token %d trusted their leases at the same time, for %d ns", s.name, s.try, s.token, w.try, w.token, overlap)
			}
		}
		n := 1
		kept := readers[:0]
		for _, other := range readers {
			if b.yields(other) > s.granted {
				kept, n = append(kept, other), n+1
			}
		}
		readers, together = append(kept, s), max(together, n)
	}
	return v, together
}

// epochs checks the tokens of readers. All readers that trust their leases at the same moment must have the same token.
// Such a group of readers is called an epoch. If a writer was granted the lock before a reader requested it, the
// writer's token must be smaller. If a writer requested the lock after a reader was granted it, the writer's token must
// be larger.
func (b *book) epochs() *Verdict {
	v := b.onBoard("S18", "the tokens of readers are one for each epoch, in order")
	if b.sharing && len(b.shares) > 0 && b.shares[0].token == 0 {
		v.NotSeen = "the store keeps no tokens for readers"
		return v
	}
	var before *attempt // the earlier shared lease that ends last, and so may overlap with s
	for _, s := range b.shares {
		v.Judged++
		if before != nil && before.era == s.era && before.placed && s.placed {
			switch {
			case min(b.yields(before), b.yields(s)) > s.granted && before.token != s.token:
				v.broken("%s: %s has token %d beside %s with token %d", s.name, s.try, s.token, before.try, before.token)
			case before.granted < s.asked && s.token < before.token:
				v.broken("%s: %s has token %d after %s with token %d", s.name, s.try, s.token, before.try, before.token)
			}
		}
		if before == nil || b.yields(s) > b.yields(before) {
			before = s
		}
	}
	for _, w := range b.grants[history.Board] {
		for _, s := range b.shares {
			switch {
			case s.era != w.era || !s.placed || !w.placed:
			case s.token == w.token,
				w.granted < s.asked && w.token > s.token,
				s.granted < w.asked && s.token > w.token:
				v.broken("%s: the reader %s has token %d, and the writer %s has token %d", s.name, s.try, s.token, w.try, w.token)
			}
		}
	}
	return v
}

// writersServed checks that a writer is served in time, although readers keep coming. The result took contains how long
// undisturbed writers waited.
func (b *book) writersServed() (v *Verdict, took []time.Duration) {
	v = b.onBoard("L7", "a writer that waits is served although readers keep coming")
	for _, a := range b.attempts {
		if a.name != history.Board || a.shared || !a.held && !a.waited() {
			continue
		}
		v.Judged++
		end := a.granted
		if !a.held {
			end = a.refused.At
		}
		if end > b.limitAfter(a.asked, 2*int64(patience)+int64(b.Meta.TTL)) {
			v.broken("%s: %s waited for %s", a.name, a.try, time.Duration(end-a.asked))
		}
		if a.held && b.disturbed(a.asked-int64(b.Meta.TTL), end) == 0 {
			took = append(took, time.Duration(end-a.asked))
		}
	}
	return v, took
}

// waited reports whether the request was refused after a wait. Writers never give up earlier. Some readers do.
func (a *attempt) waited() bool {
	return a.refused.Outcome == history.Held && a.refused.At-a.asked > 2*int64(patience)
}
