package main

import (
	"context"

	"github.com/rowlock/rowlock/bench/report"
)

// handOvers measures each lock of a store with few and with many contenders.
func (b *bench) handOvers(ctx context.Context, s store) ([]report.Row, error) {
	at, err := b.counted(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []crowd
	for _, contenders := range b.plan.contenders {
		for _, l := range s.locks {
			if l.alone || l.most > 0 && l.most < contenders || s.variant(l) && contenders != mostProcesses || b.leavesOut(s, l) {
				continue
			}
			few := contenders <= mostProcesses // with more contenders, fairness is not measured, because it takes minutes until each has held the lock several times
			all = append(all, crowd{l, contenders, min(contenders, mostProcesses), few, 0})
			if l.kind == report.Rowlock && !s.variant(l) && contenders == mostProcesses {
				all = append(all, crowd{l, contenders, 1, few, 0})
			}
		}
	}
	floor := threeUpdates(ctx, s, at)
	defer floor.close()
	rows, err := b.crowds(ctx, s, at, b.plan.handOver, all, floor.measure)
	return append(floor.rows(), rows...), err
}

// leavesOut reports whether a quick run omits the lock.
func (b *bench) leavesOut(s store, l lock) bool { return b.plan.quick && s.variant(l) }

// herds measures a thousand waiters, for rowlock and for other libraries that support so many waiters.
func (b *bench) herds(ctx context.Context, s store) ([]report.Row, error) {
	at, err := b.counted(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []crowd
	for _, l := range s.locks {
		if !l.alone && (l.most == 0 || l.most >= b.plan.herd) && !s.variant(l) && !(b.plan.quick && l.kind != report.Rowlock) {
			all = append(all, crowd{l, b.plan.herd, mostProcesses, false, 0})
		}
	}
	return b.crowds(ctx, s, at, b.plan.herds, all, nil)
}
