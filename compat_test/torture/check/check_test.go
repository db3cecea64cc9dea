package check

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// A sound history passes, and every property is checked at least once.
func TestASoundHistoryPasses(t *testing.T) {
	r := Check(sound().Run)
	assert.True(t, r.OK(), "%s", r)
	for _, v := range r.Verdicts {
		assert.Positive(t, v.Judged, "%s", v)
	}
	assert.Contains(t, r.Markdown(), "| S5' | no update is lost |")
}

// find returns the first matching event, so that the test can change it into a violation.
func find(f *forge, match func(history.Event) bool) *history.Event {
	return &f.Events[slices.IndexFunc(f.Events, match)]
}

func kind(k history.Kind) func(history.Event) bool {
	return func(e history.Event) bool { return e.Kind == k }
}

// change returns the first change of this kind in the audit.
func change(f *forge, s history.Step) *history.Change {
	return &f.Audit[slices.IndexFunc(f.Audit, func(c history.Change) bool { return c.Step() == s })]
}

// move shifts an event to another moment.
func move(f *forge, e *history.Event, at int64) {
	e.At, e.Wall = at, at+wall
	slices.SortStableFunc(f.Events, func(a, b history.Event) int { return int(a.At - b.At) })
}

// For each property, the checker rejects a history that violates the property.
func TestEveryPropertyRefusesItsForgery(t *testing.T) {
	for _, forgery := range []struct {
		id, what string
		spoil    func(f *forge)
	}{
		{"S1", "the store grants before the lease before has expired", func(f *forge) {
			c := change(f, history.Grant)
			c.OldNonce, c.OldExpires = "another", c.At+1
		}},
		{"S1", "a grant has no moment after the one before", func(f *forge) { overlap(f) }},
		{"S2", "the store grants a smaller token", func(f *forge) {
			f.change(history.Change{Name: "chain-0", Token: 1, Nonce: "late", At: micros(f.now)})
		}},
		{"S2", "two holders receive one token", func(f *forge) {
			a, b := f.ask(1, "churn-0").granted(), f.ask(2, "churn-0")
			a.released()
			f.token--
			b.granted().released()
		}},
		{"S2'", "who asks later gets a smaller token", func(f *forge) {
			f.ask(1, "churn-0").granted().released()
			f.token -= 2
			f.ask(2, "churn-0").granted().released()
		}},
		{"S3", "a holder trusts for longer than the store grants", func(f *forge) { find(f, kind(history.Granted)).Until += ttl }},
		{"S3", "a grant is not in the store's own history", func(f *forge) { change(f, history.Grant).Nonce = "another" }},
		{"S3", "a holder trusts for longer than the store grants until it renews", func(f *forge) {
			h := f.ask(1, "churn-0").granted()
			find(f, func(e history.Event) bool { return e.Kind == history.Granted && e.Try == h.try }).Until += ttl / 4
			f.now += ttl / 2
			h.renewed()
			h.expires = f.now + ttl
			h.released()
		}},
		{"S4", "two holders trust at once", func(f *forge) { overlap(f) }},
		{"S5", "an older token writes after a newer one", func(f *forge) {
			f.Ledger = append(f.Ledger, history.Link{Resource: "chain-0", Token: 1, Nonce: "stale", Read: 16, Value: 17})
		}},
		{"S5", "a holder writes again after its successor", func(f *forge) {
			first := f.Ledger[0]
			first.Token, first.Read, first.Value = 1000, 16, 17
			f.Ledger = append(f.Ledger, first)
		}},
		{"S5'", "a writer has not read the link before", func(f *forge) { f.Ledger[1].Read = 0 }},
		{"S6", "a grant is released whose holder did not", func(f *forge) {
			e := find(f, kind(history.Release))
			move(f, e, f.now)
		}},
		{"S6", "a grant is released by another, whose holder hears of that", func(f *forge) {
			h := f.ask(1, "churn-0").granted()
			f.now += ms
			f.change(history.Change{Name: h.name, Holder: h.try, OldToken: h.token, OldNonce: h.nonce, OldExpires: micros(h.expires), Token: h.token, Expires: micros(h.expires), At: micros(f.now)})
			f.now += 5 * ms
			f.event2(h, history.Lost, "taken")
			f.event2(h, history.Release, "")
			f.event2(h, history.Released, history.LeaseLost)
		}},
		{"S1", "a live lease is granted to another, and its holder hears of that first", func(f *forge) {
			h, next := f.ask(1, "churn-0").granted(), f.ask(2, "churn-0")
			f.now += ms
			at := f.now
			f.now += 5 * ms
			f.event2(h, history.Lost, "taken")
			f.event2(h, history.Release, "")
			f.event2(h, history.Released, history.LeaseLost)
			next.granted().released()
			i := slices.IndexFunc(f.Audit, func(c history.Change) bool { return c.Step() == history.Grant && c.Token == f.token })
			f.Audit[i].OldToken, f.Audit[i].OldNonce, f.Audit[i].OldExpires, f.Audit[i].At = h.token, h.nonce, micros(h.expires), micros(at)
		}},
		{"S6", "something is released that nobody asked for", func(f *forge) { change(f, history.Free).OldNonce = "another" }},
		{"S7", "a renewal revives an expired lease", func(f *forge) {
			c := change(f, history.Renew)
			c.OldExpires = c.Expires - ttl/1000 - 1
		}},
		{"S7", "a holder trusts again after its loss", func(f *forge) {
			e := *find(f, kind(history.Lost))
			f.event(history.Event{Kind: history.Seen, Worker: e.Worker, Try: e.Try, Name: e.Name, Token: e.Token, Outcome: history.Trusted})
		}},
		{"S7", "a lease that said it was over is trusted again", func(f *forge) {
			e := *find(f, func(e history.Event) bool { return e.Outcome == history.Ended })
			f.Events = slices.DeleteFunc(f.Events, kind(history.Lost))
			f.event(history.Event{Kind: history.Seen, Worker: e.Worker, Try: e.Try, Name: e.Name, Token: e.Token, Outcome: history.Trusted})
		}},
		{"S8", "a lease says that it is held after its deadline", func(f *forge) { find(f, kind(history.Seen)).Late = 1 }},
		{"S8'", "a loss is reported much later", func(f *forge) {
			e := find(f, kind(history.Lost))
			move(f, e, f.now+int64(time.Minute))
		}},
		{"S8'", "a loss is never reported", func(f *forge) {
			h := f.ask(1, "churn-0").granted()
			f.now += int64(time.Minute)
			h.released()
		}},
		{"S9", "one token writes for two holders", func(f *forge) { f.Ledger[1].Token = f.Ledger[0].Token }},
		{"S10", "the row of a live lease is pruned", func(f *forge) {
			c := change(f, history.Prune)
			c.OldExpires = c.At + 1
		}},
		{"S11", "the holder receives another token than the store granted", func(f *forge) { change(f, history.Grant).Token-- }},
		{"S11", "an acquisition is granted again, and keeps that", func(f *forge) {
			h := f.ask(1, "chain-1").granted()
			h.released()
			f.late(h)
		}},
		{"S11", "an acquisition is granted again while it is held", func(f *forge) {
			h := f.ask(1, "chain-1").granted()
			f.late(h)
			h.released()
		}},
		{"S11", "two acquisitions have one nonce", func(f *forge) {
			h := f.ask(1, "churn-0").granted()
			h.released()
			again := f.ask(2, "churn-0").granted()
			again.released()
			for i := range f.Events {
				if f.Events[i].Nonce == again.nonce {
					f.Events[i].Nonce = h.nonce
				}
			}
		}},
		{"S12", "the backend claims more than it keeps", func(f *forge) { f.Meta.Expect.Tokens = "best effort" }},
		{"W", "a write reported as committed is missing", func(f *forge) { f.Ledger = f.Ledger[:len(f.Ledger)-1] }},
		{"W", "a write reported as not committed is there", func(f *forge) {
			f.Ledger = append(f.Ledger, history.Link{Resource: "chain-0", Token: 1000, Nonce: "x", Read: 16, Value: 14})
		}},
		{"W", "half of a transaction is there", func(f *forge) {
			e := find(f, func(e history.Event) bool { return e.Kind == history.Write && e.Value == 11 })
			e.Resource = "left"
			find(f, func(e history.Event) bool { return e.Kind == history.Wrote && e.Value == 11 }).Resource = "left"
		}},
		{"W", "one write is there twice", func(f *forge) { f.Ledger = append(f.Ledger, f.Ledger[len(f.Ledger)-1]) }},
		{"L1", "nobody follows a holder that crashed", func(f *forge) {
			died := find(f, kind(history.Death)).At
			f.Events = slices.DeleteFunc(f.Events, func(e history.Event) bool { return e.Name == "chain-0" && e.At > died })
			f.now += int64(time.Minute)
			f.event(history.Event{Kind: history.Start})
		}},
		{"L2", "a waiter sleeps through a release", func(f *forge) {
			e := find(f, func(e history.Event) bool { return e.Kind == history.Granted && e.Name == relay && e.Worker == 2 })
			try := e.Try
			for i := range f.Events {
				if f.Events[i].Try == try && f.Events[i].Kind != history.Acquire {
					f.Events[i].At += int64(time.Minute)
				}
			}
			f.Events = slices.DeleteFunc(f.Events, func(e history.Event) bool { return e.Name == relay && e.Try > try })
		}},
		{"L2", "a waiter sleeps through a release, and gives up", func(f *forge) {
			holder, waiter := f.ask(1, relay).granted(), f.ask(2, relay)
			holder.released()
			f.now += int64(time.Minute)
			f.event(history.Event{Kind: history.Refused, Worker: 2, Try: waiter.try, Name: relay, Outcome: history.Held})
			f.ask(2, relay).granted().released()
		}},
		{"L3", "a request that was given up is kept alive", func(f *forge) {
			e := find(f, kind(history.Refused))
			nonce := "nonce of " + e.Try
			f.change(history.Change{Name: e.Name, Holder: e.Try, OldToken: 1, OldNonce: nonce, Token: 1, Nonce: nonce, Expires: micros(e.At + int64(time.Minute)), OldExpires: micros(e.At + int64(time.Minute))})
		}},
		{"L4", "nobody comes after a transaction that stood still", func(f *forge) {
			stopped := find(f, func(e history.Event) bool { return e.Outcome == faultStop }).At
			f.Events = slices.DeleteFunc(f.Events, func(e history.Event) bool { return e.Name == "chain-1" && e.Worker == 2 && e.At > stopped })
			f.now += int64(time.Minute)
			f.event(history.Event{Kind: history.Start})
		}},
		{"L5", "a waiter is overtaken by all who come later", func(f *forge) {
			f.now += 2 * ttl
			waiter := f.ask(3, relay)
			for range 4 {
				f.ask(1, relay).granted().released()
			}
			waiter.granted().released()
		}},
		{"L0", "a lock is no longer granted", func(f *forge) {
			healed := find(f, kind(history.Healed)).At
			f.Events = slices.DeleteFunc(f.Events, func(e history.Event) bool { return e.Name == relay && e.At > healed })
		}},
		{"L0", "a lock was never granted", func(f *forge) {
			f.event(history.Event{Kind: history.Refused, Worker: 1, Try: f.ask(1, "pair").try, Name: "pair", Outcome: history.Held})
		}},
		{"L2", "a waiter sleeps through the release of a slot, and gives up", func(f *forge) {
			holder, waiter := f.ask(1, "slot/0").granted(), f.call(2, "slot/0")
			holder.released()
			f.now += int64(time.Minute)
			f.refused(waiter[0], history.Held)
			f.ask(2, "slot/0").granted().released()
		}},
		{"L6", "a lock stays held", func(f *forge) { find(f, kind(history.Empty)).Outcome = history.Held }},
		{"S13", "a call reports a name that it was refused", func(f *forge) {
			call := f.call(1, "together-0", "together-1")
			call[0].granted()
			f.refused(call[1], history.Withdrawn)
			f.event(history.Event{Kind: history.Whole, Worker: 1, Try: history.CallOf(call[0].try)})
		}},
		{"S13", "a call reports a name that it has released", func(f *forge) {
			e := *find(f, kind(history.Whole))
			e.At = 0
			f.event(e)
		}},
		{"S13", "a call reports a name that it has lost", func(f *forge) {
			e := *find(f, kind(history.Whole))
			h := *find(f, func(of history.Event) bool { return of.Kind == history.Granted && history.CallOf(of.Try) == e.Try })
			h.Kind, h.At = history.Lost, e.At-1
			f.Events = append(f.Events, h)
		}},
		{"S13", "a call reports a name that another holds, too", func(f *forge) {
			call := f.call(1, "together-0", "together-1")
			call[0], call[1] = call[0].granted(), call[1].granted()
			other := f.ask(2, "together-1").granted()
			f.event(history.Event{Kind: history.Whole, Worker: 1, Try: history.CallOf(call[0].try)})
			other.released()
		}},
		{"S14", "a fourth holder has a slot", func(f *forge) {
			for _, name := range []string{"slot/0", "slot/1", "slot/2", "slot/3"} {
				f.ask(1, name).granted()
			}
		}},
		{"S15", "a job writes again for a tick that is done", func(f *forge) { f.job(1, 2000, 44, 45, history.Unknown) }},
		{"S15", "a job writes for an earlier tick", func(f *forge) { f.job(1, 1500, 44, 45, history.Unknown) }},
		{"S15", "a job writes twice", func(f *forge) {
			h := f.ask(1, once)
			find(f, func(e history.Event) bool { return e.Try == h.try }).Tick = 3000
			h.granted().write(44, 45, history.OK).write(45, 46, history.OK).released()
		}},
		{"S16", "a tick that is done is open again", func(f *forge) {
			h := f.ask(1, once)
			find(f, func(e history.Event) bool { return e.Try == h.try }).Tick = 2000
			h.granted().released()
		}},
		{"S16", "a tick is done, and no job ran", func(f *forge) { f.told(1, 3000) }},
		{"S17", "a reader beside a writer", func(f *forge) {
			writer := f.ask(1, history.Board).granted()
			reader := f.ask(2, history.Board).reads()
			writer.released()
			reader.released()
		}},
		{"S17", "a writer beside a reader", func(f *forge) {
			reader := f.ask(1, history.Board).reads()
			writer := f.ask(2, history.Board).granted()
			reader.released()
			writer.released()
		}},
		{"S18", "the second reader has another token", func(f *forge) {
			reader, other := f.ask(1, history.Board).reads(), f.ask(2, history.Board).reads()
			reader.released()
			other.released()
		}},
		{"S18", "a writer has the token of the readers before", func(f *forge) {
			f.ask(1, history.Board).reads().released()
			f.token--
			f.ask(2, history.Board).granted().released()
		}},
		{"S18", "readers have a smaller token than the writer before", func(f *forge) {
			f.ask(1, history.Board).granted().released()
			f.token -= 2
			f.ask(2, history.Board).reads().released()
			f.token += 2
		}},
		{"L7", "a writer waits while readers come and go", func(f *forge) {
			writer := f.ask(1, history.Board)
			reader := f.ask(2, history.Board).reads()
			f.now += int64(time.Minute)
			reader.released()
			writer.granted().released()
		}},
		{"P", "no order fits", func(f *forge) { overlap(f) }},
	} {
		t.Run(forgery.id+" "+forgery.what, func(t *testing.T) {
			f := sound()
			forgery.spoil(f)
			r := Check(f.Run)
			i := slices.IndexFunc(r.Verdicts, func(v *Verdict) bool { return v.ID == forgery.id })
			require.NotEqual(t, -1, i)
			assert.Positive(t, r.Verdicts[i].Broken, "%s", r)
			assert.False(t, r.OK())
		})
	}
}

// overlap grants a lock to a second holder while the first holder still trusts its lease.
func overlap(f *forge) {
	first := f.ask(1, "churn-0").granted()
	second := f.ask(2, "churn-0").granted()
	first.released()
	second.released()
}

// Declared exceptions are not violations: a lease that ended by a forced release, a lease that ended by a fault which
// the store does not promise to withstand, and a token that is smaller because the store lost its data.
func TestWhatIsDeclaredIsExplained(t *testing.T) {
	f := sound()
	f.Meta.Expect.Overlap, f.Meta.Expect.Regress = []string{"server kill"}, []string{"server kill"}
	f.Meta.Expect.Audited = false
	first := f.ask(1, "churn-0").granted()
	f.event(history.Event{Kind: history.Fault, Outcome: "server kill", At: f.now, End: f.now + ms, Hit: true})
	f.now += ms
	f.token -= 3
	second := f.ask(2, "churn-0").granted()
	first.released()
	second.released()
	f.Audit = nil
	r := Check(f.Run)
	assert.True(t, r.OK(), "%s", r)
	assert.Equal(t, 2, r.Figures.Explained)
}

// The checker accepts that a tick is done again in two cases: after a fault in which the store may have lost the tick,
// and after the name was pruned.
func TestATickMayBeForgotten(t *testing.T) {
	for _, e := range []history.Event{
		{Kind: history.Pruned},
		{Kind: history.Fault, Outcome: "lossy failover", Hit: true},
		{Kind: history.Fault, Outcome: "server stop", Hit: true},
	} {
		f := sound()
		f.Meta.Expect.Forget = []string{"lossy failover"}
		e.At, e.End = f.now, f.now+ms
		f.event(e)
		f.job(1, 2000, 44, 45, history.OK)
		b := newBook(f.Run)
		assert.Equal(t, e.Outcome != "server stop", b.doneOnce().Broken == 0)
		assert.Equal(t, e.Outcome != "server stop", b.doneForGood().Broken == 0)
		f.job(1, 2000, 45, 46, history.OK)
		assert.Positive(t, newBook(f.Run).doneForGood().Broken)
	}
}

// Some stores cannot record which ticks are done. On such a store a run makes no calls of Once, and the checker accepts
// that.
func TestAStoreWithoutTicks(t *testing.T) {
	f := sound()
	of := func(e history.Event) bool { return e.Name == once }
	f.Events = slices.DeleteFunc(f.Events, of)
	f.Audit = slices.DeleteFunc(f.Audit, func(c history.Change) bool { return c.Name == once })
	f.Ledger = slices.DeleteFunc(f.Ledger, func(l history.Link) bool { return l.Resource == once })
	assert.False(t, Check(f.Run).OK())
	for i := range f.Events {
		if f.Events[i].Kind == history.Start {
			f.Events[i].Detail = ""
		}
	}
	r := Check(f.Run)
	assert.True(t, r.OK(), "%s", r)
}

// With hundreds of names, some names are not requested for a long time, so the lack of a next holder is no violation.
// A name counts as stuck if a request for it is refused after the lease has ended. The exception is a name
// that another process may have held in between.
func TestOnlyAWantedNameIsFollowed(t *testing.T) {
	for _, c := range []struct {
		what   string
		broken int
		after  func(f *forge)
	}{
		{"nobody asks", 0, func(f *forge) {}},
		{"it is granted late, to the first that asks", 0, func(f *forge) { f.ask(1, "dense-001").granted().released() }},
		{"a refused request", 1, func(f *forge) { f.refused(f.ask(1, "dense-001"), history.Held) }},
		{"a refused request, and a late grant", 1, func(f *forge) {
			f.refused(f.ask(1, "dense-001"), history.Held)
			f.ask(1, "dense-001").granted().released()
		}},
		{"a grant after a long wait", 1, func(f *forge) {
			waiter := f.ask(1, "dense-001")
			move(f, find(f, func(e history.Event) bool { return e.Try == waiter.try }), f.now-int64(time.Minute)+10*ms)
			waiter.granted().released()
		}},
		{"a refused request, after one in doubt", 0, func(f *forge) {
			f.refused(f.ask(1, "dense-001"), history.Unknown)
			f.refused(f.ask(2, "dense-001"), history.Held)
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := sound()
			dead := f.ask(4, "dense-001").granted()
			f.event(history.Event{Kind: history.Write, Worker: 4, Try: dead.try, Name: dead.name, Value: 41})
			f.event(history.Event{Kind: history.Fault, Outcome: faultKill, Victim: 4, Hit: true, At: f.now + ms, End: f.now + 2*ms})
			f.event(history.Event{Kind: history.Death, Worker: 4})
			f.now += int64(time.Minute)
			c.after(f)
			f.event(history.Event{Kind: history.Start})
			b := newBook(f.Run)
			crash, _ := b.afterCrash()
			standing, _ := b.heldUp()
			assert.Equal(t, []int{c.broken, c.broken}, []int{crash.Broken, standing.Broken})
		})
	}
}

// A worker's death is recorded after its process has ended. The store may already have granted the name again between the kill
// and that record.
func TestAKillIsNotedAfterItsEffect(t *testing.T) {
	f := sound()
	f.Meta.Expect.Audited = false
	first := f.ask(1, "churn-0").granted()
	begin := f.now
	f.ask(2, "churn-0").granted().released()
	f.event(history.Event{Kind: history.Death, Worker: 1})
	v, explained := newBook(f.Run).holderView()
	assert.Equal(t, 1, v.Broken)
	f.event(history.Event{Kind: history.Fault, Outcome: faultKill, Victim: first.worker, Hit: true, At: begin, End: f.now})
	v, after := newBook(f.Run).holderView()
	assert.Zero(t, v.Broken)
	assert.Equal(t, explained+1, after)
	assert.Zero(t, newBook(f.Run).serverOrder().Broken)
}

// A holder whose session has ended may receive the answer with its grant after the next holder has received its own grant.
func TestAnAnswerThatComesAfterTheSuccessors(t *testing.T) {
	f := sound()
	f.Meta.Expect.Audited, f.Meta.Expect.Overlap = false, []string{"reset"}
	late := f.ask(1, "churn-0")
	next := f.ask(2, "churn-0")
	f.event(history.Event{Kind: history.Fault, Outcome: "reset", Victim: 1, Hit: true, End: f.now + 2*ms})
	f.token += 2
	next = next.granted()
	f.token -= 2
	late = late.granted()
	f.token += 2
	next.released()
	late.released()
	v, _ := newBook(f.Run).holderView()
	assert.Zero(t, v.Broken)
	f.Meta.Expect.Overlap = nil
	v, _ = newBook(f.Run).holderView()
	assert.Equal(t, 1, v.Broken)
}

// If the answer with a grant arrives after the holder's deadline, the holder never trusts its lease. So the lease does
// not overlap another lease.
func TestAnAnswerAfterTheDeadlineIsNeverTrusted(t *testing.T) {
	f := sound()
	first := f.ask(1, "churn-0").granted()
	late := f.ask(2, "churn-0").granted()
	v, _ := newBook(f.Run).holderView()
	assert.Equal(t, 1, v.Broken)
	answer := find(f, func(e history.Event) bool { return e.Kind == history.Granted && e.Try == late.try })
	answer.Until = answer.At - ms
	first.released()
	late.released()
	v, _ = newBook(f.Run).holderView()
	assert.Zero(t, v.Broken)
}

// If a request is in progress while a server is killed, the server may have granted the request before
// or after the kill. So the checker does not compare the request's token with others.
func TestAGrantDuringAKillHasNoPlace(t *testing.T) {
	f := sound()
	f.Meta.Expect.Overlap, f.Meta.Expect.Regress = []string{"server kill"}, []string{"server kill"}
	f.Meta.Expect.Audited = false
	before := f.ask(1, "churn-0")
	begin := f.now
	before = before.granted()
	before.released()
	f.event(history.Event{Kind: history.Fault, Outcome: "server kill", At: begin, End: f.now, Hit: true})
	f.now += ms
	f.token -= 3
	f.ask(2, "churn-0").granted().released()
	f.token -= 3
	f.Audit = nil
	r := Check(f.Run)
	assert.True(t, r.OK(), "%s", r)
	f.ask(2, "churn-0").granted().released()
	assert.Positive(t, newBook(f.Run).realTime().Broken)
}

// A fault does not explain violations if it hit another worker, or if the store must withstand the fault.
func TestOtherFaultsExplainNothing(t *testing.T) {
	for _, e := range []history.Event{
		{Kind: history.Fault, Outcome: "reset"},
		{Kind: history.Fault, Outcome: "server kill", Victim: 2},
	} {
		f := sound()
		f.Meta.Expect.Overlap = []string{"server kill"}
		first := f.ask(1, "churn-0").granted()
		e.At, e.End = f.now, f.now+ms
		f.event(e)
		second := f.ask(2, "churn-0").granted()
		first.released()
		second.released()
		v, _ := newBook(f.Run).holderView()
		assert.Equal(t, 1, v.Broken)
	}
}

// A forced release that found no lease cannot be the reason for a lost lease. It also does not cancel the effect of an earlier forced release.
func TestAnEvictionThatFoundNothing(t *testing.T) {
	for _, before := range []bool{true, false} {
		f := sound()
		first := f.ask(1, "churn-0").granted()
		evict := func(outcome string) {
			at := f.now
			f.event(history.Event{Kind: history.Evict, Victim: 1, Name: "churn-0", Token: first.token, Outcome: history.Unknown, At: at})
			f.event(history.Event{Kind: history.Evict, Victim: 1, Name: "churn-0", Token: first.token, Outcome: outcome, At: at, End: f.now})
		}
		if before {
			evict(history.OK)
		}
		evict(history.Ended)
		f.ask(2, "churn-0").granted().released()
		first.released()
		v, _ := newBook(f.Run).holderView()
		assert.Equal(t, before, v.Broken == 0)
	}
}

// A run with too few observations fails, even if all observations are correct.
func TestTooLittleIsAFailure(t *testing.T) {
	for what, spoil := range map[string]func(*forge){
		"the control without a fence": func(f *forge) { f.Ledger[4].Read = f.Ledger[3].Value },
		"the database refused": func(f *forge) {
			find(f, func(e history.Event) bool { return e.Outcome == history.Stale }).Outcome = history.Undone
		},
		"a live holder lost": func(f *forge) { f.Events = slices.DeleteFunc(f.Events, kind(history.Lost)) },
		"a fault took effect": func(f *forge) {
			f.Events = slices.DeleteFunc(f.Events, func(e history.Event) bool { return e.Kind == history.Fault || e.Kind == history.Evict })
		},
		"a live lease was force-released": func(f *forge) { f.Events = slices.DeleteFunc(f.Events, kind(history.Evict)) },
		"the lease rejected a write": func(f *forge) {
			find(f, func(e history.Event) bool { return e.Outcome == history.LeaseLost }).Outcome = history.Undone
		},
	} {
		f := sound()
		spoil(f)
		r := Check(f.Run)
		assert.False(t, r.OK(), what)
		assert.Contains(t, r.String(), what)
	}
	assert.False(t, Check(new(history.Run)).OK())
}

// If Porcupine cannot decide in time, the run fails. A run with an unexplained error also fails.
func TestUndecidedIsAFailure(t *testing.T) {
	v := &Verdict{Judged: 10, Unknown: 1, Need: true}
	assert.False(t, v.OK())
	f := sound()
	f.event(history.Event{Kind: history.Refused, Worker: 1, Try: f.ask(1, "churn-0").try, Outcome: history.Failed})
	assert.False(t, Check(f.Run).OK())
}

// If a request was sent twice, the duplicate may wait in the store until the first grant is released. Some stores
// record a change with the instant at which its statement began, which is before that release. The store's order of
// changes shows that the release came first.
func TestADuplicateThatWaitsBehindTheRelease(t *testing.T) {
	for _, taken := range []bool{true, false} {
		f := sound()
		h := f.ask(1, "chain-1").granted()
		began := f.now
		f.now += 100 * ms
		h.released()
		again := f.late(h)
		f.Audit[len(f.Audit)-1].At = micros(began)
		if taken {
			f.change(history.Change{Name: again.name, Holder: again.try, OldToken: again.token, OldNonce: again.nonce, OldExpires: micros(again.expires), Token: again.token, Expires: micros(f.now), At: micros(f.now)})
		}
		v := newBook(f.Run).oneToken()
		assert.Equal(t, taken, v.Broken == 0, "%v", v.Examples)
	}
}

// A worker may be suspended between the store's grant and the worker's own event. The worker then receives a lease that has
// already ended, while the next holder has the name.
func TestAnAnswerThatComesAfterItsLease(t *testing.T) {
	f := sound()
	late := f.ask(1, "churn-0")
	stopped := f.now
	next := f.ask(2, "churn-0")
	late.token, late.nonce, late.expires = f.token+1, "nonce of "+late.try, f.now+ttl
	f.token++
	f.change(history.Change{Name: late.name, Holder: late.try, Token: late.token, Nonce: late.nonce, Expires: micros(late.expires), At: micros(f.now)})
	f.now += 2 * ttl
	next = next.granted()
	f.event(history.Event{Kind: history.Fault, Outcome: faultStop, Victim: 1, Hit: true, At: stopped, End: f.now})
	f.event2(late, history.Granted, "").Until = late.expires - ttl/10
	f.event2(late, history.Lost, "deadline")
	f.event2(late, history.Seen, history.Ended)
	f.event2(late, history.Release, "")
	f.event2(late, history.Released, history.LeaseLost)
	next.released()
	r := Check(f.Run)
	assert.True(t, r.OK(), "%s", r)
}

// A release may make the next grant in the same step, but not before the next holder has sent its request.
func TestAReleaseMayGrant(t *testing.T) {
	for _, early := range []int64{0, 5 * ms} {
		f := sound()
		first, second := f.ask(1, "churn-0").granted(), f.ask(2, "churn-0")
		f.event2(first, history.Release, "")
		f.now += ms
		second.granted()
		c := &f.Audit[len(f.Audit)-1]
		c.OldToken, c.OldNonce, c.OldExpires, c.At = first.token, first.nonce, micros(first.expires), c.At-early/microsecond
		f.event2(first, history.Released, history.OK)
		r := Check(f.Run)
		assert.Equal(t, early > 0, r.Verdicts[slices.IndexFunc(r.Verdicts, func(v *Verdict) bool { return v.ID == "S1" })].Broken > 0, "%s", r)
	}
}

// If the reply to a request was lost, the store may grant the repeated request after the first grant has expired. The
// nonce is the same, but the token is new: this is a grant, and no renewal.
func TestARepeatedRequestIsGrantedAfterItsFirstGrantHasExpired(t *testing.T) {
	for _, expired := range []bool{true, false} {
		f := sound()
		h := f.ask(1, "churn-0")
		f.token++
		first := history.Change{Name: h.name, Holder: h.try, Token: f.token, Nonce: "nonce of " + h.try, Expires: micros(f.now + ttl), At: micros(f.now)}
		f.change(first)
		if expired {
			f.now += 2 * ttl
		}
		h = h.granted()
		c := &f.Audit[len(f.Audit)-1]
		c.OldToken, c.OldNonce, c.OldExpires = first.Token, first.Nonce, first.Expires
		h.released()
		r := Check(f.Run)
		assert.Equal(t, expired, r.OK(), "%s", r)
	}
}
