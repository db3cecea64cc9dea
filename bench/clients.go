package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/bench/report"
)

// clients measures cycles of several clients that run at the same time, each with its own name and connections. With
// the same number of clients, it also measures the minimum work of any lock in the same store.
func (b *bench) clients(ctx context.Context, s store) ([]report.Row, error) {
	at, err := b.world.ready(ctx, s)
	if err != nil {
		return nil, err
	}
	row, ok := s.lock(s.many[0])
	if !ok {
		return nil, fmt.Errorf("no lock %q", s.many[0])
	}
	locks := []lock{row}
	if bare, ok := s.lock(row.floor); ok {
		locks = []lock{bare, row}
	}
	var rows []report.Row
	for _, n := range b.plan.clients {
		rates, latencies, failed := make([][]float64, len(locks)), make([][]time.Duration, len(locks)), make([]error, len(locks))
		for round := range b.plan.many.rounds {
			for turn := range locks {
				i := (round + turn) % len(locks)
				took, span, err := together(ctx, at, locks[i], n, b.plan.many.round)
				if err != nil {
					failed[i] = err
					continue
				}
				rates[i] = append(rates[i], float64(len(took))/span.Seconds())
				latencies[i] = append(latencies[i], took...)
			}
		}
		for i, l := range locks {
			row := report.Row{Lock: l.name, Kind: l.kind, Contenders: n}
			if failed[i] != nil {
				row.Error = failed[i].Error()
			} else {
				row.Figures = map[string]float64{"per_s": median(rates[i]), "p50_us": percentile(latencies[i], 50), "p99_us": percentile(latencies[i], 99)}
				if failed[0] == nil && len(locks) > 1 {
					(&score{rates[i], latencies[i], nil}).ratios(row.Figures, score{rates[0], latencies[0], nil})
				}
			}
			rows = append(rows, row)
		}
		b.log("%s: %d clients", s.title, n)
	}
	return rows, nil
}

// together lets n clients run cycles at the same time, for the duration span. It returns how long each cycle took,
// and the measured time.
func together(ctx context.Context, at []string, l lock, n int, span time.Duration) (took []time.Duration, d time.Duration, err error) {
	parties := make([]*party, n)
	defer func() {
		for _, p := range parties {
			if p != nil {
				p.close()
			}
		}
	}()
	cycles := make([]func(context.Context) error, n)
	for i := range n {
		if parties[i], err = l.join(ctx, at, task{Name: fmt.Sprintf("client %d", i), Members: 1}); err != nil {
			return nil, 0, err
		}
		cycles[i] = parties[i].cycle
		if err := cycles[i](ctx); err != nil { // a first cycle, which also opens the connections, is not measured
			return nil, 0, err
		}
	}
	all, errs := make([][]time.Duration, n), make([]error, n)
	began := time.Now()
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { all[i], errs[i] = timed(ctx, cycles[i], span) })
	}
	group.Wait()
	d = time.Since(began)
	for _, err := range errs {
		if err != nil {
			return nil, 0, err
		}
	}
	return slices.Concat(all...), d, nil
}

// cycle runs one acquire and one release by the party's first member.
func (p *party) cycle(ctx context.Context) error {
	h, err := p.members[0](ctx)
	if err != nil {
		return err
	}
	return h.release(ctx)
}
