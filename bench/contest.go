package main

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/bench/report"
)

// runs says how many rounds to measure, and how long each round lasts.
type runs struct {
	rounds int
	round  time.Duration
}

// contender is one implementation that is compared with others.
type contender struct {
	name, kind string
	floor      string // the name of the contender by whose speed the speed of this one is divided
	cycle      func(context.Context) error
	close      func()
	failed     error // if not nil, the contender is not measured
}

// contest measures all contenders alternately, once per round. So if the machine becomes slower or faster, all
// contenders are affected alike.
func (b *bench) contest(ctx context.Context, r runs, all []contender, count meter) ([]report.Row, error) {
	defer func() {
		for _, one := range all {
			if one.close != nil {
				one.close()
			}
		}
	}()
	scores := make([]score, len(all))
	for i := range all {
		if all[i].failed == nil {
			_, all[i].failed = timed(ctx, all[i].cycle, r.round/4)
		}
	}
	for round := range r.rounds {
		for turn := range all {
			i := (round + turn) % len(all)
			if all[i].failed == nil {
				all[i].failed = scores[i].round(ctx, r, all[i].cycle, count)
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
	}
	var rows []report.Row
	for i, one := range all {
		row := report.Row{Lock: one.name, Kind: one.kind}
		if one.failed != nil {
			row.Error = one.failed.Error()
		} else {
			floor := slices.IndexFunc(all, func(c contender) bool { return c.name == one.floor && c.failed == nil })
			row.Figures = scores[i].figures()
			if floor >= 0 {
				scores[i].ratios(row.Figures, scores[floor])
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// score is the result of one contender, round by round.
type score struct {
	rates     []float64
	latencies []time.Duration
	counts    []float64 // the number of counted requests per cycle
}

func (s *score) round(ctx context.Context, r runs, cycle func(context.Context) error, count meter) error {
	before, err := count.read(ctx)
	if err != nil {
		return err
	}
	took, err := timed(ctx, cycle, r.round)
	if err != nil {
		return err
	}
	after, err := count.read(ctx)
	if err != nil {
		return err
	}
	s.rates = append(s.rates, rate(took))
	s.latencies = append(s.latencies, took...)
	if count != nil {
		s.counts = append(s.counts, (after-before)/float64(len(took)))
	}
	return nil
}

func (s *score) figures() map[string]float64 {
	slices.Sort(s.latencies)
	f := map[string]float64{"per_s": median(s.rates), "p50_us": percentile(s.latencies, 50), "p99_us": percentile(s.latencies, 99)}
	if s.counts != nil {
		f["counted"] = median(s.counts)
	}
	return f
}

func (s *score) ratios(f map[string]float64, floor score) {
	ratios := make([]float64, len(s.rates))
	for i := range ratios {
		ratios[i] = s.rates[i] / floor.rates[i]
	}
	if s.latencies != nil && floor.latencies != nil {
		f["ratio_p50"] = percentile(floor.latencies, 50) / percentile(s.latencies, 50)
	}
	f["ratio"], f["ratio_min"], f["ratio_max"] = median(ratios), slices.Min(ratios), slices.Max(ratios)
}
