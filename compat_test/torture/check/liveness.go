package check

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// Bounds of what happens without a fault are for a loaded machine: they fail where nothing happens at all.
const patience = 10 * time.Second

// Kinds of faults that the checker knows.
const (
	faultKill     = "kill"
	faultHalfOpen = "half-open"
	faultStop     = "stop"
	faultEvict    = "evict"
	faultCut      = "black hole"
)

// afterCrash: what a killed worker held is free within the TTL and what the store needs to notice; longer only by as
// long as something else was done to the store.
func (b *book) afterCrash() (v *Verdict, took []time.Duration) {
	v = &Verdict{ID: "L1", Property: "a crash frees what was held", Need: true}
	bound := int64(b.Meta.TTL + b.Meta.Expect.Crash)
	for _, a := range b.attempts {
		died := b.deaths[a.worker]
		if !a.held || died == 0 || a.release != 0 || a.evicted != 0 || a.lost.At != 0 || a.until < died {
			continue
		}
		from, crashed := b.crash(a.worker)
		if !crashed {
			continue
		}
		next := b.next(a.name, died)
		end := from + bound
		if next != nil {
			end = next.granted
		}
		limit := from + bound + b.disturbed(from, end)
		late := next == nil && b.ended > limit || next != nil && next.granted > limit
		if next == nil && !late || late && b.unwanted(a.name, died, limit, next) {
			continue
		}
		v.Judged++
		if late {
			v.broken("%s: token %d of a worker that crashed was not followed in time", a.name, a.token)
			continue
		}
		took = append(took, time.Duration(next.granted-died))
	}
	return v, took
}

// unwanted says that a name needs no next holder by limit, because no request for it was refused. Only names of the dense mode have times
// in which nobody asks for them. A request whose outcome is in doubt may have held the name meanwhile.
func (b *book) unwanted(name string, from, limit int64, next *attempt) bool {
	if !strings.HasPrefix(name, dense) {
		return false
	}
	vain, doubt := int64(never), int64(never)
	if next != nil && next.asked < limit-int64(b.Meta.TTL) {
		vain = limit // it waited until then
	}
	for _, a := range b.attempts {
		switch {
		case a.name != name || a.asked < from || a.held || next != nil && a.asked >= next.granted:
		case a.refused.Outcome != history.Held:
			doubt = min(doubt, a.asked)
		case a.asked > limit:
			vain = min(vain, a.asked)
		}
	}
	return vain == never || vain > doubt
}

// crash is from when on a store can know that a worker is gone: one that vanished behind a cut leaves connections that
// only end with the cut.
func (b *book) crash(worker int) (at int64, crashed bool) {
	for _, f := range b.faults {
		if f.victim != worker {
			continue
		}
		switch f.kind {
		case faultKill:
			return b.deaths[worker], true
		case faultHalfOpen:
			return f.end, true
		}
	}
	return 0, false
}

// next is the first grant of a name after an instant.
func (b *book) next(name string, after int64) *attempt {
	of := b.grants[name]
	i, _ := slices.BinarySearchFunc(of, after, func(a *attempt, at int64) int {
		if a.granted <= at {
			return -1
		}
		return 1
	})
	if i == len(of) {
		return nil
	}
	return of[i]
}

// wakeUps: after a release, one of those who wait is granted the name. took is of those that nothing disturbed.
func (b *book) wakeUps() (v *Verdict, took []time.Duration) {
	v = &Verdict{ID: "L2", Property: "a release lets the next one in", Need: true}
	for _, a := range b.grants[relay] {
		if a.released.Outcome != history.OK {
			continue
		}
		from := a.released.At
		limit := from + int64(patience+b.Meta.TTL)
		limit += b.disturbed(from-int64(b.Meta.TTL), limit)
		next := b.next(relay, from)
		if next == nil || next.granted > limit {
			if waiter := b.waiting(relay, a.release, limit); waiter != nil {
				v.Judged++
				v.broken("%s waited for longer than %s after the release of token %d", waiter.try, time.Duration(limit-from), a.token)
			}
			continue
		}
		if next.asked > a.release || b.deaths[next.worker] != 0 && b.deaths[next.worker] < from {
			continue // nobody waited who came to have it
		}
		v.Judged++
		if b.disturbed(from-int64(b.Meta.TTL), next.granted) == 0 {
			took = append(took, time.Duration(next.granted-from))
		}
	}
	return v, took
}

// waiting is somebody who had asked for a name by one instant, and was without an answer at the other; nil if nobody was.
func (b *book) waiting(name string, asked, at int64) *attempt {
	for _, a := range b.attempts {
		end := b.ended
		for _, known := range []int64{a.granted, a.refused.At, b.deaths[a.worker]} {
			if known != 0 {
				end = min(end, known)
			}
		}
		if a.name == name && a.asked <= asked && end > at {
			return a
		}
	}
	return nil
}

// abandoned: an acquisition that its caller gave up keeps the name no longer than a lease and its last request.
func (b *book) abandoned() *Verdict {
	v := &Verdict{ID: "L3", Property: "a request that was given up frees the name"}
	if !b.Meta.Expect.Audited {
		v.NotSeen = "the store writes nothing down"
		return v
	}
	for _, c := range b.Audit {
		if s := c.Step(); s != history.Grant && s != history.Renew {
			continue
		}
		a := b.byTry[b.tryOf[c.Nonce]]
		if a == nil || a.held || a.refused.At == 0 {
			continue
		}
		v.Judged++
		bound := a.refused.Wall + int64(b.Meta.TTL+patience) + b.disturbed(a.refused.At, a.refused.At+int64(patience))
		if c.Expires*microsecond > bound {
			v.broken("%s: token %d of %s, who had given up, was kept", c.Name, c.Token, a.try)
		}
	}
	return v
}

// recovery: when all is healed, every lock is granted again.
func (b *book) recovery() *Verdict {
	v := &Verdict{ID: "L0", Property: "when all is healed, every lock is granted again", Need: true}
	if b.healed == 0 {
		v.Unknown++
		return v
	}
	asked := map[string]bool{} // those that nobody was ever granted, too
	for _, a := range b.attempts {
		asked[a.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		v.Judged++
		if b.next(name, b.healed) == nil {
			v.broken("%s was not granted any more", name)
		}
	}
	return v
}

// reported: a loss is told when it happens. Those of workers that could not run do not count.
func (b *book) reported() (v *Verdict, took []time.Duration) {
	v = &Verdict{ID: "S8'", Property: "a loss is reported", Need: true}
	for _, a := range b.attempts {
		if !a.held {
			continue // or lost before its worker had heard of it, as while it was sealed
		}
		told := a.lost.At
		if told == 0 { // it was none until somebody else ended the hold
			told = b.ended
			for _, at := range []int64{a.release, b.deaths[a.worker], a.evicted} {
				if at != 0 {
					told = min(told, at)
				}
			}
			if told <= a.until {
				continue
			}
		}
		v.Judged++
		late := told - a.until
		if late < 0 {
			continue // known before the deadline
		}
		stopped := int64(0)
		for _, f := range b.faults {
			if f.victim == a.worker && f.kind == faultStop {
				stopped += max(0, min(told, f.end)-max(a.until, f.begin))
			}
		}
		if late > stopped+int64(patience) {
			v.broken("%s: the loss of token %d was not told for %s", a.name, a.token, time.Duration(late))
		}
		if stopped == 0 && a.lost.At != 0 {
			took = append(took, time.Duration(late))
		}
	}
	return v, took
}
