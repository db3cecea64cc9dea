package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/bench/report"
)

const (
	severalNames = 3
	severalSlots = 4
	otherReaders = 63
	oneName      = "`Acquire` of one name"
)

// several compares the time of these calls with an acquire and release of one name: calls that acquire several names,
// calls of Once, and shared acquires. It also compares the hand-over of slots with the hand-over of one name.
func (b *bench) several(ctx context.Context, s store) ([]report.Row, error) {
	at, err := b.counted(ctx, s)
	if err != nil {
		return nil, err
	}
	l, _ := s.lock(s.many[0])
	locker, leave, err := l.locker(ctx, at)
	if err != nil {
		return nil, err
	}
	all := []contender{
		{name: oneName, close: leave, cycle: thenRelease(func(ctx context.Context) (*rowlock.Lease, error) {
			return locker.Acquire(ctx, "one")
		})},
		{name: fmt.Sprintf("`AcquireAll` of %d names", severalNames), cycle: thenRelease(func(ctx context.Context) (*rowlock.Leases, error) {
			return locker.AcquireAll(ctx, rowlock.Slots("all", severalNames))
		})},
		{name: fmt.Sprintf("`AcquireAny` of %d free slots", severalSlots), cycle: thenRelease(func(ctx context.Context) (*rowlock.Lease, error) {
			return locker.AcquireAny(ctx, rowlock.Slots("any", severalSlots))
		})},
		{name: "`Once`, each time for a new tick", cycle: ticks(locker)},
		{name: "`Shared`, one reader", cycle: reads(locker, "shared")},
		{name: fmt.Sprintf("`Shared`, beside %d readers", otherReaders), cycle: reads(locker, crowded)},
	}
	for range otherReaders { // the locker releases these leases when it is closed
		if _, err := locker.Acquire(ctx, crowded, rowlock.Shared()); err != nil {
			return nil, err
		}
	}
	for i := range all {
		all[i].kind, all[i].floor = report.Rowlock, oneName
	}
	rows, err := b.contest(ctx, b.plan.cycles, all, nil)
	if err != nil {
		return nil, err
	}
	waiters := slices.Max(b.plan.contenders)
	handOvers, err := b.crowds(ctx, s, at, b.plan.herds, []crowd{
		{lock: l, contenders: waiters, processes: mostProcesses},
		{lock: l, contenders: waiters, processes: mostProcesses, slots: severalSlots},
	}, nil)
	if err != nil {
		return nil, err
	}
	handOvers[0].Lock, handOvers[1].Lock = "hand-over of one name", fmt.Sprintf("hand-over of one of %d slots", severalSlots)
	return append(rows, handOvers...), nil
}

// thenRelease returns a function that acquires and releases.
func thenRelease[L interface{ Release(context.Context) error }](acquire func(context.Context) (L, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		held, err := acquire(ctx)
		if err != nil {
			return err
		}
		return held.Release(ctx)
	}
}

const crowded = "crowded"

// reads returns a function that acquires and releases a share of name.
func reads(locker *rowlock.Locker, name string) func(context.Context) error {
	return thenRelease(func(ctx context.Context) (*rowlock.Lease, error) {
		return locker.Acquire(ctx, name, rowlock.Shared())
	})
}

// ticks returns a function that runs a job of no work for the next tick.
func ticks(locker *rowlock.Locker) func(context.Context) error {
	// Each tick must be larger than those before, also larger than those of earlier runs on the same server.
	tick := time.Now().UnixNano()
	return func(ctx context.Context) error {
		tick++
		return rowlock.Once(ctx, locker, "once", strconv.FormatInt(tick, 10), func(context.Context, *rowlock.Lease) error { return nil })
	}
}

// timesOneCycle divides the median time of the row r by the median time of an acquire and release of one name. The
// result is formatted for a table cell.
func timesOneCycle(r report.Row) string {
	ratio, ok := r.Figures["ratio_p50"]
	if !ok {
		return "–"
	}
	return report.Share(1 / ratio)
}
