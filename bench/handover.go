package main

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/bench/report"
)

// handOvers is the part of a store: each lock with few and with many contenders.
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
			few := contenders <= mostProcesses // with many it takes minutes until each has had its turns
			all = append(all, crowd{l, contenders, min(contenders, mostProcesses), few})
			if l.kind == report.Rowlock && !s.variant(l) && contenders == mostProcesses {
				all = append(all, crowd{l, contenders, 1, few})
			}
		}
	}
	rows, err := b.crowds(ctx, s, at, b.plan.handOver, all)
	return append(b.threeUpdates(ctx, s, at), rows...), err
}

// leavesOut is what a quick run does without.
func (b *bench) leavesOut(s store, l lock) bool { return b.plan.quick && s.variant(l) }

// herds is a thousand waiters: ours, and the peers that let so many wait.
func (b *bench) herds(ctx context.Context, s store) ([]report.Row, error) {
	at, err := b.counted(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []crowd
	for _, l := range s.locks {
		if !l.alone && (l.most == 0 || l.most >= b.plan.herd) && !s.variant(l) && !(b.plan.quick && l.kind != report.Rowlock) {
			all = append(all, crowd{l, b.plan.herd, mostProcesses, false})
		}
	}
	return b.crowds(ctx, s, at, b.plan.herds, all)
}

// threeUpdates shows how long three bare durable updates take, one after the other.
func (b *bench) threeUpdates(ctx context.Context, s store, at []string) (rows []report.Row) {
	for _, l := range s.locks {
		if !l.half {
			continue
		}
		row := report.Row{Lock: "three" + l.name[len("two"):], Kind: report.Floor}
		p, err := l.join(ctx, at, task{Name: "three", Members: 1})
		if err == nil {
			var took []time.Duration
			took, err = timed(ctx, func(ctx context.Context) error {
				h, err := p.members[0](ctx)
				return errors.Join(err, h.release(ctx), h.release(ctx))
			}, b.plan.handOver.round)
			p.close()
			if err == nil {
				row.Figures = map[string]float64{"p50_us": percentile(took, 50), "p99_us": percentile(took, 99)}
			}
		}
		if err != nil {
			row.Error = err.Error()
		}
		rows = append(rows, row)
	}
	return rows
}
