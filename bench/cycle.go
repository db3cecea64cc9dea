package main

import (
	"context"

	"github.com/rowlock/rowlock/bench/report"
)

// cycles measures acquire and release of a free name, for every lock of a store.
func (b *bench) cycles(ctx context.Context, s store) ([]report.Row, error) {
	at, err := b.world.ready(ctx, s)
	if err != nil {
		return nil, err
	}
	if s.apart {
		at = oneOf(at, 0)
	}
	var all []contender
	for _, l := range s.locks {
		if l.only {
			continue
		}
		c := contender{name: l.name, kind: l.kind, floor: l.floor}
		p, err := l.join(ctx, at, task{Name: "cycle " + l.name, Members: 1})
		if err != nil {
			c.failed = err
		} else {
			c.close, c.cycle = p.close, p.cycle
		}
		all = append(all, c)
	}
	return b.contest(ctx, b.plan.cycles, all, nil)
}
