package check

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// patience limits waits that no fault disturbs. The limit is long enough for a loaded machine, so only a wait without any
// progress exceeds it.
const patience = 10 * time.Second

// Kinds of faults that the checker distinguishes.
const (
	faultKill     = "kill"
	faultHalfOpen = "half-open"
	faultStop     = "stop"
	faultEvict    = "evict"
	faultCut      = "black hole"
)

// afterCrash checks that a killed worker's locks become free within a limit: the TTL plus the time that the store needs to detect
// the crash. Other faults in that time extend the limit by their duration.
func (b *book) afterCrash() (v *Verdict, took []time.Duration) {
	v = &Verdict{ID: "L1", Property: "after a crash of its holder, a lock becomes free in time", Need: true}
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
			v.broken("%s: after a worker with token %d crashed, the lock was not granted again in time", a.name, a.token)
			continue
		}
		took = append(took, time.Duration(next.granted-died))
	}
	return v, took
}

// unwanted reports whether a name may have no next holder until limit, because nobody needed the name. It is true only
// for names of the dense mode, because all other names are requested all the time. It is false if a request was refused
// although it was sent after limit, or if the next holder was still waiting at limit: the name was then stuck. An
// earlier request with an unknown outcome is an excuse, because it may have held the name.
func (b *book) unwanted(name string, from, limit int64, next *attempt) bool {
	if !strings.HasPrefix(name, dense) {
		return false
	}
	vain, doubt := int64(never), int64(never)
	if next != nil && next.asked < limit-int64(b.Meta.TTL) {
		vain = limit // the request of the next holder waited until then
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

// crash returns the instant from which a store can detect that a worker has died, and whether the worker died. If the worker's
// network was cut, the connections stay open until the cut ends.
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

// next returns the first grant of a name after an instant.
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

// wakeUps checks that a waiter is granted the relay or a slot after a release. The result took contains the durations
// of the hand-overs of the relay that no fault disturbed.
func (b *book) wakeUps() (v *Verdict, took []time.Duration) {
	v = &Verdict{ID: "L2", Property: "after a release, a waiter acquires the lock", Need: true}
	for _, a := range b.attempts {
		if a.name != relay && !strings.HasPrefix(a.name, slot) || a.released.Outcome != history.OK {
			continue
		}
		from := a.released.At
		limit := b.limitAfter(from, int64(patience+b.Meta.TTL))
		next := b.next(a.name, from)
		if next == nil || next.granted > limit {
			if waiter := b.waiting(a.name, a.release, limit); waiter != nil {
				v.Judged++
				v.broken("%s: %s waited for longer than %s after the release of token %d", a.name, waiter.try, time.Duration(limit-from), a.token)
			}
			continue
		}
		if next.asked > a.release || b.deaths[next.worker] != 0 && b.deaths[next.worker] < from {
			continue // The limit does not apply: the next holder had not even sent its request by that time.
		}
		v.Judged++
		if a.name == relay && b.disturbed(from-int64(b.Meta.TTL), next.granted) == 0 {
			took = append(took, time.Duration(next.granted-from))
		}
	}
	return v, took
}

// limitAfter returns the instant start plus the duration length, plus the duration of the faults. It counts all faults
// between one TTL before start and the returned instant.
func (b *book) limitAfter(start, length int64) int64 {
	for limit := start + length; ; {
		later := start + length + b.disturbed(start-int64(b.Meta.TTL), limit)
		if later <= limit {
			return limit
		}
		limit = later
	}
}

// waiting returns a request for name, or nil if there is none. The request was sent at the instant since or earlier,
// and had no answer at the instant at.
func (b *book) waiting(name string, since, at int64) *attempt {
	for _, a := range b.attempts {
		end := b.ended
		for _, known := range []int64{a.granted, a.refused.At, b.deaths[a.worker]} {
			if known != 0 {
				end = min(end, known)
			}
		}
		if a.name == name && a.asked <= since && end > at {
			return a
		}
	}
	return nil
}

// abandoned checks acquisitions whose caller gave up. An abandoned acquisition may hold the name for at most one TTL
// after its last request.
func (b *book) abandoned() *Verdict {
	v := &Verdict{ID: "L3", Property: "a cancelled request does not keep the lock"}
	if !b.Meta.Expect.Audited {
		v.NotSeen = "the store has no audit"
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
			v.broken("%s: token %d of %s was kept after its caller had given up", c.Name, c.Token, a.try)
		}
	}
	return v
}

// recovery checks that every lock is granted again after all faults have ended.
func (b *book) recovery() *Verdict {
	v := &Verdict{ID: "L0", Property: "after all faults have ended, every lock is granted again", Need: true}
	if b.healed == 0 {
		v.Unknown++
		return v
	}
	asked := map[string]bool{} // this list also contains names that were never granted
	for _, a := range b.attempts {
		asked[a.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		v.Judged++
		read := name == history.Board && slices.ContainsFunc(b.shares, func(a *attempt) bool { return a.granted > b.healed })
		if !read && b.next(name, b.healed) == nil {
			v.broken("%s was not granted again", name)
		}
	}
	return v
}

// empty checks that no lock is held after the last worker has ended: no slot, and no name of a call that failed.
func (b *book) empty() *Verdict {
	v := &Verdict{ID: "L6", Property: "after the last worker has ended, no lock is held", Need: true}
	for _, e := range b.Events {
		if e.Kind != history.Empty {
			continue
		}
		if v.Judged++; e.Outcome != history.OK {
			v.broken("%s is still held", e.Name)
		}
	}
	return v
}

// reported checks that the library reports a loss in time. It ignores losses of workers that could not run at
// that time.
func (b *book) reported() (v *Verdict, took []time.Duration) {
	v = &Verdict{ID: "S8'", Property: "a loss is reported", Need: true}
	for _, a := range b.attempts {
		if !a.held {
			continue // not granted, or lost before the worker received the grant, for example during the seal
		}
		told := a.lost.At
		if told == 0 { // the lease ended in another way before a loss was reported
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
			continue // the loss was known before the deadline, so the report came in time
		}
		stopped := int64(0)
		for _, f := range b.faults {
			if f.victim == a.worker && f.kind == faultStop {
				stopped += max(0, min(told, f.end)-max(a.until, f.begin))
			}
		}
		if late > stopped+int64(patience) {
			v.broken("%s: the loss of token %d was reported %s too late", a.name, a.token, time.Duration(late))
		}
		if stopped == 0 && a.lost.At != 0 {
			took = append(took, time.Duration(late))
		}
	}
	return v, took
}
