// Package check decides from the history of a run whether the library kept its promises. The package reads nothing but
// the history. Each property has its own verdict. If a case cannot be decided, or if a run has too few observations,
// the check fails.
package check

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// attempt is one acquisition, with its lease if the acquisition was granted. All instants are on the clock of the history, and 0
// means never.
type attempt struct {
	try, name string
	worker    int
	asked     int64
	refused   history.Event

	held     bool // true if the acquisition was granted and the worker received the grant
	token    int64
	nonce    string
	granted  int64
	grant    history.Event
	until    int64 // the latest end of trust that the worker recorded
	lost     history.Event
	release  int64
	released history.Event
	trust    []history.Event // the events of the grant and of its renewals
	seen     []history.Event
	evicted  int64 // the instant of a forced release that ended the lease or may have ended it
	tick     int64 // the tick of a call of Once
	wrote    bool  // true if a write was committed
	era      int
	placed   bool // true if the era of the attempt is known; see the method era
	shared   bool // true if the lease is shared
}

// fault is one fault that the supervisor caused.
type fault struct {
	kind       string
	begin, end int64
	victim     int
	hit        bool
}

// book is the history of a run, with the indexes that the checks need.
type book struct {
	*history.Run
	attempts []*attempt
	byTry    map[string]*attempt
	// for each name, the exclusive grants that workers received, in the order of the grants
	grants   map[string][]*attempt
	shares   []*attempt // the shared grants of the board, in the order of the grants
	deaths   map[int]int64
	calls    map[string][]*attempt // for each call of several names, the acquisitions of all its names
	reports  []history.Event       // the events in which a call for several names reports that it holds all of them
	faults   []fault
	prunings []fault
	ticks    bool // true if the store keeps ticks
	sharing  bool // true if the store grants shared locks
	healed   int64
	ended    int64
	tryOf    map[string]string // for each nonce, the holder that the store's audit names
}

func newBook(r *history.Run) *book {
	r.Audit = slices.DeleteFunc(r.Audit, func(c history.Change) bool { return c.Name == history.Board })
	b := &book{Run: r, byTry: map[string]*attempt{}, grants: map[string][]*attempt{}, deaths: map[int]int64{}, calls: map[string][]*attempt{}, tryOf: map[string]string{}}
	type key struct {
		name  string
		token int64
	}
	sent, evicted := map[key]int64{}, map[key]int64{} // a request without an answer counts as executed
	for _, e := range r.Events {
		b.ended = max(b.ended, e.At)
		switch e.Kind {
		case history.Death:
			b.deaths[e.Worker] = e.At
		case history.Start:
			b.ticks, b.sharing = b.ticks || e.Detail == history.Ticks, b.sharing || e.Shared
		case history.Healed:
			b.healed = e.At
		case history.Whole:
			b.reports = append(b.reports, e)
		case history.Pruned:
			b.prunings = append(b.prunings, fault{begin: e.At, end: e.End})
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
		if a.shared {
			b.shares = append(b.shares, a)
		} else {
			b.grants[a.name] = append(b.grants[a.name], a)
		}
	}
	for _, of := range b.grants {
		slices.SortStableFunc(of, byGrant)
	}
	slices.SortStableFunc(b.shares, byGrant)
	for _, c := range r.Audit {
		if c.Step() == history.Grant {
			b.tryOf[c.Nonce] = b.owner(c)
		}
	}
	return b
}

func byGrant(x, y *attempt) int { return cmp.Compare(x.granted, y.granted) }

// owner returns the acquisition to which a grant in the audit belongs. A call for several names may be granted one of
// its names, but release it again because another name is held. It then requests the released name once more. Each such
// grant counts as a separate acquisition. The caller never used the released grants: the checker treats them as refused
// when the call returns.
func (b *book) owner(c history.Change) string {
	try := history.TryOf(c.Holder, c.Name)
	a := b.byTry[try]
	if a == nil || try == c.Holder || !a.held || a.nonce == c.Nonce {
		return try
	}
	try += " " + c.Nonce
	b.byTry[try] = &attempt{try: try, name: a.name, worker: a.worker, asked: a.asked, refused: a.grant}
	return try
}

// add indexes an event of a worker.
func (b *book) add(e history.Event) {
	if e.Try == "" {
		return
	}
	a := b.byTry[e.Try]
	if a == nil {
		a = &attempt{try: e.Try, name: e.Name, worker: e.Worker, asked: e.At}
		b.byTry[e.Try] = a
		b.attempts = append(b.attempts, a)
		if call := history.CallOf(e.Try); call != e.Try {
			b.calls[call] = append(b.calls[call], a)
		}
	}
	a.tick = max(a.tick, e.Tick)
	switch e.Kind {
	case history.Granted:
		if a.lost.Token != e.Token {
			a.lost = history.Event{} // the recorded loss belongs to an earlier grant of the same call
		}
		a.held, a.shared, a.token, a.nonce, a.granted, a.grant = true, e.Shared, e.Token, e.Nonce, e.At, e
		a.until, a.trust = max(a.until, e.Until), append(a.trust, e)
	case history.Renewed:
		a.until, a.trust = max(a.until, e.Until), append(a.trust, e)
	case history.Refused:
		a.refused = e
	case history.Lost:
		if !a.held || e.Token == a.token {
			a.lost = e
		}
	case history.Wrote:
		a.wrote = a.wrote || e.Outcome == history.OK
	case history.Seen:
		a.seen = append(a.seen, e)
	case history.Release:
		a.release = e.At
	case history.Released:
		a.released = e
	}
}

// end returns the latest instant at which a holder believes that it holds the lock. If the holder's worker was suspended, this
// instant can be before the worker received the grant.
func (b *book) end(a *attempt) int64 {
	end := a.until
	for _, at := range []int64{a.lost.At, a.release, b.deaths[a.worker]} {
		if at != 0 {
			end = min(end, at)
		}
	}
	return max(end, a.asked)
}

// yields returns the earliest instant at which the store may grant the name again.
// This is the end of the holder's trust, or, if earlier, a forced release, or a fault after which the store may lose
// the lease.
func (b *book) yields(a *attempt) int64 {
	at := b.end(a)
	if a.evicted != 0 {
		at = min(at, a.evicted)
	}
	for _, f := range b.faults {
		if f.end < a.asked || f.begin >= at || f.victim != 0 && f.victim != a.worker {
			continue
		}
		if slices.Contains(b.Meta.Expect.Overlap, f.kind) || f.kind == faultKill { // the death of a killed worker is recorded only when the fault ends
			at = f.begin
		}
	}
	return at
}

// era counts the faults before the acquisition a that may have reset tokens, and reports whether this number is known.
// If a was requested during such a fault, the store may have granted a before or after the fault.
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

// inOrder returns those grants of a name whose era is known, ordered by era and token.
func (b *book) inOrder(name string) []*attempt {
	of := slices.DeleteFunc(slices.Clone(b.grants[name]), func(a *attempt) bool { return !a.placed })
	slices.SortStableFunc(of, func(x, y *attempt) int { return cmp.Or(cmp.Compare(x.era, y.era), cmp.Compare(x.token, y.token)) })
	return of
}

// disturbed returns the total duration of the faults between two instants.
func (b *book) disturbed(from, to int64) (sum int64) {
	for _, f := range b.faults {
		sum += max(0, min(to, f.end)-max(from, f.begin))
	}
	return sum
}

// fenced reports whether writes to a resource's chain are fenced.
func fenced(resource string) bool { return resource != control }

// These are names of locks and resources for which the checker has special rules.
const (
	control = "control"
	relay   = "relay"
	once    = "once"
	slot    = "slot/" // prefix of the names of the slots
	slots   = 3
	dense   = "dense-" // prefix of names that end with a number
)

const never = math.MaxInt64

// names returns the names of all locks, sorted.
func (b *book) names() (names []string) {
	for name := range b.grants {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// of returns the changes of one kind in the audit.
func (b *book) of(kind history.Step) iter.Seq[history.Change] {
	return func(yield func(history.Change) bool) {
		for _, c := range b.Audit {
			if c.Step() == kind && !yield(c) {
				return
			}
		}
	}
}

// audited returns an empty verdict for a property that needs the store's audit, and whether the run has an audit.
func (b *book) audited(id, property, instead string) (v *Verdict, ok bool) {
	v = &Verdict{ID: id, Property: property, Need: true}
	if !b.Meta.Expect.Audited {
		v.NotSeen = "the store has no audit" + instead
	}
	return v, b.Meta.Expect.Audited
}
