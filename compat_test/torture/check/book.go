// Package check decides from the history of a run, and from nothing else, whether the promises were kept: each property
// has a verdict of its own. What cannot be decided counts as a failure, and so does a run that saw too little.
package check

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// attempt is one acquisition, and the lease that came of it. Instants are those of the history; 0 is never.
type attempt struct {
	try, name string
	worker    int
	asked     int64
	refused   history.Event

	held     bool // it was granted, and its worker knew
	token    int64
	nonce    string
	granted  int64
	grant    history.Event
	until    int64 // the latest end of trust that it was ever told
	lost     history.Event
	release  int64
	released history.Event
	trust    []history.Event // grants and renewals
	seen     []history.Event
	evicted  int64 // when it was ended by force, or may have been
	era      int
	placed   bool // its era is known
}

// fault is one of the supervisor's.
type fault struct {
	kind       string
	begin, end int64
	victim     int
	hit        bool
}

// book is a history, sorted by what the properties ask for.
type book struct {
	*history.Run
	attempts []*attempt
	byTry    map[string]*attempt
	grants   map[string][]*attempt // by name, those that were held, by the time of the grant
	deaths   map[int]int64
	faults   []fault
	healed   int64
	ended    int64
	tryOf    map[string]string // the holder of a nonce, by the audit
}

func newBook(r *history.Run) *book {
	b := &book{Run: r, byTry: map[string]*attempt{}, grants: map[string][]*attempt{}, deaths: map[int]int64{}, tryOf: map[string]string{}}
	type key struct {
		name  string
		token int64
	}
	sent, evicted := map[key]int64{}, map[key]int64{} // what was sent and not answered counts as done
	for _, e := range r.Events {
		b.ended = max(b.ended, e.At)
		switch e.Kind {
		case history.Death:
			b.deaths[e.Worker] = e.At
		case history.Healed:
			b.healed = e.At
		case history.Fault:
			b.faults = append(b.faults, fault{e.Outcome, e.At, e.End, e.Victim, e.Hit})
		case history.Evict:
			k := key{e.Name, e.Token}
			switch {
			case e.End == 0:
				sent[k] = e.At
				continue
			case e.Outcome != history.Ended && evicted[k] == 0:
				evicted[k] = e.At
			}
			delete(sent, k)
			if e.Outcome != history.Ended {
				b.faults = append(b.faults, fault{faultEvict, e.At, e.End, e.Victim, true})
			}
		default:
			b.add(e)
		}
	}
	for _, a := range b.attempts {
		if !a.held {
			continue
		}
		k := key{a.name, a.token}
		if a.evicted = evicted[k]; a.evicted == 0 {
			a.evicted = sent[k]
		}
		a.era, a.placed = b.era(a)
		b.grants[a.name] = append(b.grants[a.name], a)
	}
	for _, of := range b.grants {
		slices.SortStableFunc(of, func(x, y *attempt) int { return cmp.Compare(x.granted, y.granted) })
	}
	for _, c := range r.Audit {
		if c.Step() == history.Grant {
			b.tryOf[c.Nonce] = c.Holder
		}
	}
	return b
}

// add sorts an event of a worker.
func (b *book) add(e history.Event) {
	if e.Try == "" {
		return
	}
	a := b.byTry[e.Try]
	if a == nil {
		a = &attempt{try: e.Try, name: e.Name, worker: e.Worker, asked: e.At}
		b.byTry[e.Try] = a
		b.attempts = append(b.attempts, a)
	}
	switch e.Kind {
	case history.Granted:
		a.held, a.token, a.nonce, a.granted, a.grant = true, e.Token, e.Nonce, e.At, e
		a.until, a.trust = max(a.until, e.Until), append(a.trust, e)
	case history.Renewed:
		a.until, a.trust = max(a.until, e.Until), append(a.trust, e)
	case history.Refused:
		a.refused = e
	case history.Lost:
		a.lost = e
	case history.Seen:
		a.seen = append(a.seen, e)
	case history.Release:
		a.release = e.At
	case history.Released:
		a.released = e
	}
}

// end is when a holder's own view that it holds the lock is over at the latest. That is before its answer came if its worker stood still
// meanwhile.
func (b *book) end(a *attempt) int64 {
	end := a.until
	for _, at := range []int64{a.lost.At, a.release, b.deaths[a.worker]} {
		if at != 0 {
			end = min(end, at)
		}
	}
	return max(end, a.asked)
}

// yields is when the store may give the name away at the earliest: when the holder's view is over, or by something
// that the store is not promised to withstand.
func (b *book) yields(a *attempt) int64 {
	at := b.end(a)
	if a.evicted != 0 {
		at = min(at, a.evicted)
	}
	for _, f := range b.faults {
		if f.end < a.asked || f.begin >= at || f.victim != 0 && f.victim != a.worker {
			continue
		}
		if slices.Contains(b.Meta.Expect.Overlap, f.kind) || f.kind == faultKill { // whose death is noted when it is over
			at = f.begin
		}
	}
	return at
}

// era is how many of the faults after which tokens may fall came before a, and whether that is known: what was under way
// meanwhile may have been granted by the store before or after.
func (b *book) era(a *attempt) (n int, known bool) {
	known = true
	for _, f := range b.faults {
		switch {
		case !slices.Contains(b.Meta.Expect.Regress, f.kind):
		case f.end < a.asked:
			n++
		case f.begin <= a.granted:
			known = false
		}
	}
	return n, known
}

// inOrder are the grants of a name whose era is known, in the order of eras and tokens.
func (b *book) inOrder(name string) []*attempt {
	of := slices.DeleteFunc(slices.Clone(b.grants[name]), func(a *attempt) bool { return !a.placed })
	slices.SortStableFunc(of, func(x, y *attempt) int { return cmp.Or(cmp.Compare(x.era, y.era), cmp.Compare(x.token, y.token)) })
	return of
}

// disturbed is for how long something was done between two instants.
func (b *book) disturbed(from, to int64) (sum int64) {
	for _, f := range b.faults {
		sum += max(0, min(to, f.end)-max(from, f.begin))
	}
	return sum
}

// fenced says whether the chain of a resource is behind the fence.
func fenced(resource string) bool { return resource != control }

// Names that the checker knows.
const (
	control = "control"
	relay   = "relay"
	dense   = "dense-" // and a number
)

const never = math.MaxInt64

// names are those of all locks, sorted.
func (b *book) names() (names []string) {
	for name := range b.grants {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// of is what the store has written down of one kind of step.
func (b *book) of(kind history.Step) iter.Seq[history.Change] {
	return func(yield func(history.Change) bool) {
		for _, c := range b.Audit {
			if c.Step() == kind && !yield(c) {
				return
			}
		}
	}
}

// audited is a verdict that needs what the store writes down, and whether there is any.
func (b *book) audited(id, property, instead string) (v *Verdict, ok bool) {
	v = &Verdict{ID: id, Property: property, Need: true}
	if !b.Meta.Expect.Audited {
		v.NotSeen = "the store writes nothing down" + instead
	}
	return v, b.Meta.Expect.Audited
}
