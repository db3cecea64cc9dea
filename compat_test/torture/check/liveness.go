package check

import (
	"slices"
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
		from, crashed := b.crash(a.worker)
		if !a.held || !crashed || a.release != 0 || a.evicted != 0 || a.lost.At != 0 || a.until < died {
			continue
		}
		next := b.next(a.name, died)
		late := next == nil && b.ended > from+bound+b.disturbed(from, from+bound)
		if next == nil && !late {
			continue
		}
		v.Judged++
		if late || next.granted > from+bound+b.disturbed(from, next.granted) {
			v.broken("%s: token %d of a worker that crashed was not followed in time", a.name, a.token)
			continue
		}
		took = append(took, time.Duration(next.granted-died))
	}
	return v, took
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
		next := b.next(relay, a.released.At)
		if next == nil || next.asked > a.release || b.deaths[next.worker] != 0 && b.deaths[next.worker] < a.released.At {
			continue // nobody waited who came to have it
		}
		v.Judged++
		d := next.granted - a.released.At
		disturbed := b.disturbed(a.released.At-int64(b.Meta.TTL), next.granted)
		if d > int64(patience+b.Meta.TTL)+disturbed {
			v.broken("%s waited %s after the release of token %d", next.try, time.Duration(d), a.token)
		}
		if disturbed == 0 {
			took = append(took, time.Duration(d))
		}
	}
	return v, took
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
	for _, name := range b.names() {
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
		if a.lost.At == 0 || !a.held {
			continue // or lost before its worker had heard of it, as while it was sealed
		}
		v.Judged++
		late := a.lost.At - a.until
		if late < 0 {
			continue // known before the deadline
		}
		stopped := int64(0)
		for _, f := range b.faults {
			if f.victim == a.worker && f.kind == faultStop {
				stopped += max(0, min(a.lost.At, f.end)-max(a.until, f.begin))
			}
		}
		if late > stopped+int64(patience) {
			v.broken("%s: the loss of token %d was told after %s", a.name, a.token, time.Duration(late))
		}
		if stopped == 0 {
			took = append(took, time.Duration(late))
		}
	}
	return v, took
}
