//go:build linux

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// The method several requests names in one call, and logs one request and one answer for each name. The parameter ask
// is the function that makes the call and returns the acquired leases. The result call is the holder's name under which
// the store records the call. The result all contains the acquired leases.
func (w *worker) several(ctx context.Context, names []string, ask func(rowlock.Option) ([]*rowlock.Lease, error)) (call string, all []*hold) {
	call = w.newTry() + "/"
	for _, name := range names {
		w.log.Write(history.Event{Kind: history.Acquire, Try: history.TryOf(call, name), Name: name})
	}
	leases, err := ask(rowlock.Holder(call))
	w.grants.Delete(call)
	for _, lease := range leases {
		all = append(all, w.granted(lease, history.TryOf(call, lease.Name()), 0))
	}
	for _, name := range names {
		if slices.ContainsFunc(leases, func(lease *rowlock.Lease) bool { return lease.Name() == name }) {
			continue
		}
		e := history.Event{Kind: history.Refused, Try: history.TryOf(call, name), Name: name, Outcome: history.Withdrawn}
		if err != nil {
			e.Outcome, e.Detail = refusal(ctx, false, err), err.Error()
		}
		w.log.Write(e)
	}
	return call, all
}

// together acquires all of the names that other loops acquire one by one. A fourth of the calls do not wait, and a few are
// cancelled, so many calls fail with some of the names granted.
func (w *worker) together(ctx context.Context, r *rand.Rand) {
	names := slices.Clone(togetherNames)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	limit := rowlock.Wait(relayWait)
	switch r.IntN(8) {
	case 0, 1:
		limit = rowlock.Wait(0)
	case 2:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.Int64N(int64(w.TTL/10))))
		defer cancel()
	}
	wanted := names
	if w.mutant.partial {
		wanted = names[:1]
	}
	var leases *rowlock.Leases
	call, all := w.several(ctx, names, func(holder rowlock.Option) (got []*rowlock.Lease, err error) {
		if leases, err = w.locker.AcquireAll(ctx, wanted, limit, holder); err == nil {
			got = leases.All()
		}
		return got, err
	})
	if leases == nil {
		return
	}
	report := func() bool {
		e := history.Event{Kind: history.Whole, Try: call, Wall: time.Now().UnixNano(), At: history.Now()}
		if leases.Err() != nil {
			return false
		}
		w.log.Write(e)
		return true
	}
	if report() {
		time.Sleep(time.Duration(r.Int64N(int64(w.TTL / 50))))
		report()
	}
	for _, h := range all {
		h.look()
		w.log.Write(h.event(history.Release))
	}
	_ = leases.Release(context.Background())
	for _, h := range all {
		// The leases are already released. This second Release only returns the result of the first, which is logged.
		h.released(h.lease.Release(context.Background()))
	}
}

// slot acquires one of a few slots, works for a while, and releases the slot.
func (w *worker) slot(ctx context.Context, r *rand.Rand) {
	names := slotNames
	if w.mutant.roomy {
		names = rowlock.Slots("slot", slots+1)
	}
	_, all := w.several(ctx, names, func(holder rowlock.Option) ([]*rowlock.Lease, error) {
		lease, err := w.locker.AcquireAny(ctx, names, rowlock.Wait(relayWait), holder)
		if err != nil {
			return nil, err
		}
		return []*rowlock.Lease{lease}, nil
	})
	for _, h := range all {
		if h.look() {
			time.Sleep(time.Duration(r.Int64N(int64(w.TTL / 5)))) // so long that all slots are held most of the time
			h.look()
		}
		h.release()
	}
}

var errNotWritten = errors.New("the job of the tick did not write")

// once runs a job once for each tick. The job appends to a chain behind the fence. Some callers are late, and come for a
// tick that is over.
func (w *worker) once(ctx context.Context, r *rand.Rand) {
	at := time.Now().Add(-time.Duration(max(0, r.IntN(8)-4)) * tickEvery)
	try, tick := w.newTry(), at.Truncate(tickEvery).UnixMilli()
	w.log.Write(history.Event{Kind: history.Acquire, Try: try, Name: onceName, Tick: tick})
	var h *hold
	err := rowlock.Once(ctx, w.locker, onceName, rowlock.TickOf(at, tickEvery), func(_ context.Context, lease *rowlock.Lease) error {
		h = w.granted(lease, try, tick)
		defer func() { w.log.Write(h.event(history.Release)) }()
		c := &chained{hold: h, random: r, usual: tempo{w.TTL / 50, 1}, fenced: true, resources: []string{onceName}, ends: make([]int64, 1)}
		if !c.read() {
			return errNotWritten
		}
		if c.work(); c.write() != history.OK {
			return errNotWritten
		}
		return nil
	}, append(fencedBy(w.sealer), rowlock.Wait(longestWait), rowlock.Holder(try))...)
	_, granted := w.grants.LoadAndDelete(try)
	if h != nil {
		h.released(err)
		return
	}
	w.log.Write(history.Event{Kind: history.Refused, Try: try, Name: onceName, Tick: tick, Outcome: refusal(ctx, granted, err), Detail: err.Error()})
}
