package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// forge writes the history of a run without violations. Tests then change an event to make a violation.
type forge struct {
	*history.Run
	now   int64 // times are on the machine's monotonic clock; the wall clock is ahead by the constant wall
	token int64
	seq   int64
	tries int
}

const (
	wall = int64(1_000_000 * time.Second)
	ttl  = int64(time.Second)
	ms   = int64(time.Millisecond)
)

func micros(at int64) int64 { return (at + wall) / 1000 }

func (f *forge) event(e history.Event) *history.Event {
	f.now += ms
	if e.At == 0 {
		e.At = f.now
	}
	e.Wall = e.At + wall
	f.Events = append(f.Events, e)
	return &f.Events[len(f.Events)-1]
}

func (f *forge) change(c history.Change) {
	f.seq++
	c.Seq = f.seq
	f.Audit = append(f.Audit, c)
}

// held is one lease of a forged history.
type held struct {
	*forge
	name, try, nonce string
	again            string // distinguishes this grant from an earlier one of the same call
	token, expires   int64
	worker           int
}

func (f *forge) event2(h held, kind history.Kind, outcome string) *history.Event {
	return f.event(history.Event{Kind: kind, Worker: h.worker, Try: h.try, Name: h.name, Token: h.token, Nonce: h.nonce, Outcome: outcome})
}

// ask adds a request.
func (f *forge) ask(worker int, name string) held {
	f.tries++
	h := held{forge: f, name: name, try: fmt.Sprintf("w%d-%d", worker, f.tries), worker: worker}
	f.event(history.Event{Kind: history.Acquire, Worker: worker, Try: h.try, Name: name})
	return h
}

// granted adds the answer that grants the request h.
func (h held) granted() held {
	h.forge.token++
	h.token, h.nonce = h.forge.token, "nonce of "+h.try+h.again
	h.now += ms
	h.expires = h.now + ttl
	h.change(history.Change{Name: h.name, Holder: history.CallOf(h.try), Token: h.token, Nonce: h.nonce, Expires: micros(h.expires), At: micros(h.now)})
	h.event2(h, history.Granted, "").Until = h.expires - ttl/10
	h.event2(h, history.Seen, history.Trusted)
	return h
}

// reads adds the answer that grants h a shared lease with a new token. Later readers may join with the same token.
func (h held) reads() held {
	h = h.granted()
	find(h.forge, func(e history.Event) bool { return e.Try == h.try && e.Kind == history.Granted }).Shared = true
	return h
}

// joins adds the answer that grants h a shared lease with the token of the present readers.
func (h held) joins() held {
	h.forge.token--
	return h.reads()
}

// refused adds the answer that refuses the request h.
func (f *forge) refused(h held, outcome string) { f.event2(h, history.Refused, outcome) }

func (h held) write(read, value int64, outcome string) held {
	resource := h.name
	h.event2(h, history.Write, "")
	w := &h.Events[len(h.Events)-1]
	w.Resource, w.Read, w.Value = resource, read, value
	if outcome == history.OK {
		h.Ledger = append(h.Ledger, history.Link{Seq: int64(len(h.Ledger)), Resource: resource, Token: h.token, Nonce: h.nonce, Worker: h.worker, Read: read, Value: value})
	}
	e := h.event2(h, history.Wrote, outcome)
	e.Resource, e.Read, e.Value = resource, read, value
	return h
}

func (h held) released() {
	h.event2(h, history.Release, "")
	h.now += ms
	h.change(history.Change{Name: h.name, Holder: h.try, OldToken: h.token, OldNonce: h.nonce, OldExpires: micros(h.expires), Token: h.token, Expires: micros(h.expires), At: micros(h.now)})
	h.event2(h, history.Released, history.OK)
}

// sound returns a small history without violations. The history contains every observation that a run must make.
func sound() *forge {
	f := &forge{Run: &history.Run{Meta: history.Meta{Backend: "forged", TTL: time.Duration(ttl), Expect: history.Expect{
		Claims: "sqllock/forged", Tokens: "linearizable", Audited: true, Pruned: true, Crash: 10 * time.Second, Overtaken: 3,
	}}}, now: ttl, token: 100}
	for worker := 1; worker <= 3; worker++ {
		f.event(history.Event{Kind: history.Start, Worker: worker, Name: "sqllock/forged", Outcome: "linearizable", Detail: history.Ticks, Shared: true})
	}
	f.ask(1, "chain-0").granted().write(0, 11, history.OK).released()
	f.ask(2, "chain-0").granted().write(11, 12, history.OK).write(12, 13, history.OK).released()
	f.ask(1, control).granted().write(0, 21, history.OK).released()
	// This worker did not read the first write, so its write overwrites that update.
	f.ask(2, control).granted().write(0, 22, history.OK).released()
	first, second := f.ask(1, relay).granted(), f.ask(2, relay)
	first.released()
	second.granted().released()

	// The caller of this request gave up, and the store granted the request nevertheless.
	up := f.ask(1, "churn-0")
	granted := up.granted()
	f.Events = slices.DeleteFunc(f.Events, func(e history.Event) bool {
		return e.Try == up.try && e.Kind != history.Acquire
	})
	f.event(history.Event{Kind: history.Refused, Worker: 1, Try: up.try, Name: "churn-0", Outcome: history.Unknown})
	f.change(history.Change{Name: "churn-0", Holder: up.try, OldToken: granted.token, OldNonce: granted.nonce, OldExpires: micros(granted.expires), Token: granted.token, Expires: micros(granted.expires), At: micros(f.now)})

	// This holder's lease is released by force. The holder continues, the database refuses its write, and the holder then detects
	// the loss.
	victim := f.ask(1, "chain-0").granted()
	at := f.now
	f.event(history.Event{Kind: history.Evict, Victim: 1, Name: victim.name, Token: victim.token, Outcome: history.Unknown, At: at})
	f.change(history.Change{Name: victim.name, Holder: victim.try, OldToken: victim.token, OldNonce: victim.nonce, OldExpires: micros(victim.expires), Token: victim.token, Expires: micros(victim.expires), At: micros(f.now)})
	f.event(history.Event{Kind: history.Evict, Victim: 1, Name: victim.name, Token: victim.token, Outcome: history.OK, At: at, End: f.now})
	next := f.ask(2, "chain-0").granted()
	victim.write(13, 14, history.Stale)
	f.event2(victim, history.Lost, "taken")
	f.event2(victim, history.Seen, history.Ended)
	victim.write(13, 15, history.LeaseLost)
	next.write(13, 16, history.OK).released()

	// This holder renews its lease and is killed. The next holder acquires the name after the lease has expired.
	dead := f.ask(3, "chain-0").granted()
	f.now += 500 * ms
	dead.renewed()
	f.event(history.Event{Kind: history.Seen, Worker: 3, Try: dead.try, Name: dead.name, Token: dead.token, Nonce: dead.nonce, Outcome: history.Trusted})
	f.event(history.Event{Kind: history.Death, Worker: 3})
	f.event(history.Event{Kind: history.Fault, Outcome: faultKill, Victim: 3, Hit: true, At: f.now - ms, End: f.now})
	waiter := f.ask(1, "chain-0")
	f.now += ttl
	f.change(history.Change{Name: "chain-0", Gone: true, OldToken: dead.token, OldNonce: dead.nonce, OldExpires: micros(f.now - 2*ms), At: micros(f.now)})
	waiter.granted().released()

	// The first answer to this request was lost. The second request arrives after the lease of the first grant has expired.
	twice := f.ask(1, "chain-1")
	twice.token, twice.nonce = f.token+1, "nonce of "+twice.try
	f.token++
	f.change(history.Change{Name: twice.name, Holder: twice.try, Token: twice.token, Nonce: twice.nonce, Expires: micros(f.now + ttl), At: micros(f.now)})
	twice.expires = f.now + ttl
	f.now += 2 * ttl
	f.change(history.Change{Name: twice.name, Holder: twice.try, OldToken: twice.token, OldNonce: twice.nonce, OldExpires: micros(twice.expires), Token: twice.token, Nonce: twice.nonce, Expires: micros(f.now + ttl), At: micros(f.now)})
	twice.expires = f.now + ttl
	f.event2(twice, history.Granted, "").Until = twice.expires - ttl/10
	twice.renewed()
	twice.expires = f.now + ttl
	twice.released()

	// The duplicate request of this holder is granted after the holder's release. This second grant is then also released.
	early := f.ask(1, "chain-1").granted()
	early.released()
	again := f.late(early)
	f.change(history.Change{Name: again.name, Holder: again.try, OldToken: again.token, OldNonce: again.nonce, OldExpires: micros(again.expires), Token: again.token, Expires: micros(f.now), At: micros(f.now)})

	// This holder is suspended in the middle of a transaction. The next holder acquires the name meanwhile.
	still := f.ask(1, "chain-1").granted()
	f.event2(still, history.Write, "").Value = 31
	f.event(history.Event{Kind: history.Fault, Outcome: faultStop, Victim: 1, Hit: true, At: f.now + ms, End: f.now + 2*ttl})
	f.now += 2 * ttl
	after := f.ask(2, "chain-1").granted()
	f.event2(still, history.Wrote, history.Undone).Value = 31
	after.released()

	// This call acquires both of its names. Before that, it was granted one name, and released it because the other
	// name was held.
	call := f.call(1, "together-0", "together-1")
	refused := call[0].granted()
	f.Events = slices.DeleteFunc(f.Events, func(e history.Event) bool { return e.Try == refused.try && e.Kind != history.Acquire })
	f.change(history.Change{Name: refused.name, Holder: history.CallOf(refused.try), OldToken: refused.token, OldNonce: refused.nonce, OldExpires: micros(refused.expires), Token: refused.token, Expires: micros(refused.expires), At: micros(f.now)})
	for i := range call {
		call[i].again = " again"
		call[i] = call[i].granted()
	}
	f.event(history.Event{Kind: history.Whole, Worker: 1, Try: history.CallOf(refused.try)})
	for _, h := range call {
		h.released()
	}

	// Three holders have all slots. Each of their calls also requested the other slots.
	var three []held
	for worker := range slots {
		call := f.call(worker%2+1, "slot/0", "slot/1", "slot/2")
		for i, h := range call {
			if i != worker {
				f.refused(h, history.Withdrawn)
			}
		}
		three = append(three, call[worker].granted())
	}
	waiting := f.call(2, "slot/0", "slot/1", "slot/2")
	for _, h := range three {
		h.released()
	}
	f.refused(waiting[1], history.Withdrawn)
	f.refused(waiting[2], history.Withdrawn)
	waiting[0].granted().released()

	// The first job writes, and its release is lost. The second job does the same tick. The third call learns that the
	// tick is done.
	f.job(1, 500, 0, 41, history.Unknown)
	f.job(2, 500, 41, 42, history.OK)
	f.told(1, 500)
	f.job(1, 1000, 42, 43, history.OK)

	// Two readers have the same token. The writer waits for both.
	reader, other := f.ask(1, history.Board).reads(), f.ask(2, history.Board).joins()
	writer := f.ask(1, history.Board)
	reader.released()
	other.released()
	writer.granted().released()
	f.ask(2, history.Board).reads().released()

	f.event(history.Event{Kind: history.Healed})
	for _, name := range []string{"chain-0", "chain-1", "churn-0", control, relay, "together-0", "together-1", "slot/0", "slot/1", "slot/2", history.Board} {
		f.ask(2, name).granted().released()
	}
	f.job(2, 2000, 43, 44, history.OK)
	f.event(history.Event{Kind: history.Empty, Name: "slot/0", Outcome: history.OK})
	return f
}

// call adds a request for several names.
func (f *forge) call(worker int, names ...string) (all []held) {
	f.tries++
	for _, name := range names {
		h := held{forge: f, name: name, try: fmt.Sprintf("w%d-%d/%s", worker, f.tries, name), worker: worker}
		f.event(history.Event{Kind: history.Acquire, Worker: worker, Try: h.try, Name: name})
		all = append(all, h)
	}
	return all
}

// job adds a call of Once that runs its job. The parameter outcome is the answer of the call.
func (f *forge) job(worker int, tick, read, value int64, outcome string) held {
	h := f.ask(worker, once)
	find(f, func(e history.Event) bool { return e.Try == h.try }).Tick = tick
	h = h.granted().write(read, value, history.OK)
	h.released()
	f.Events[len(f.Events)-1].Outcome = outcome
	return h
}

// told adds a call of Once that learns that its tick is done.
func (f *forge) told(worker int, tick int64) {
	h := f.ask(worker, once)
	find(f, func(e history.Event) bool { return e.Try == h.try }).Tick = tick
	f.refused(h, history.Done)
}

// late adds the grant of a late duplicate of h's request, and returns that grant.
func (f *forge) late(h held) held {
	f.token++
	f.now += ms
	h.token, h.expires = f.token, f.now+ttl
	f.change(history.Change{Name: h.name, Holder: h.try, Token: h.token, Nonce: h.nonce, Expires: micros(h.expires), At: micros(f.now)})
	f.now += 2 * ttl
	return h
}

// renewed adds a renewal of the lease h.
func (h held) renewed() {
	h.now += ms
	h.change(history.Change{Name: h.name, Holder: h.try, OldToken: h.token, OldNonce: h.nonce, OldExpires: micros(h.expires), Token: h.token, Nonce: h.nonce, Expires: micros(h.now + ttl), At: micros(h.now)})
	h.event2(h, history.Renewed, "").Until = h.now + ttl - ttl/10
}
