package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// runs is how long to measure.
type runs struct {
	rounds int
	round  time.Duration
}

// comparison is something of ours beside what has to be done without it, on the same connections.
type comparison struct {
	name  string
	bare  func(context.Context) error
	ours  func(context.Context) error
	close func() // nil if there is nothing to close
}

// measure runs both in turn, round by round, so that a machine whose speed drifts slows both.
func (p runs) measure(ctx context.Context, c comparison) (string, error) {
	if c.close != nil {
		defer c.close()
	}
	for _, warm := range []func(context.Context) error{c.bare, c.ours} {
		if _, err := timed(ctx, warm, p.round/4); err != nil {
			return "", err
		}
	}
	var bare, ours, ratios []float64
	var latencies []time.Duration
	for i := range p.rounds {
		first, second := c.bare, c.ours
		if i%2 == 1 {
			first, second = second, first
		}
		a, err := timed(ctx, first, p.round)
		if err != nil {
			return "", err
		}
		b, err := timed(ctx, second, p.round)
		if err != nil {
			return "", err
		}
		if i%2 == 1 {
			a, b = b, a
		}
		bare, ours = append(bare, rate(a)), append(ours, rate(b))
		ratios = append(ratios, rate(b)/rate(a))
		latencies = append(latencies, b...)
	}
	slices.Sort(latencies)
	return fmt.Sprintf("| %s | %.0f | %.0f | **%.2f** (%.2f–%.2f) | %s | %s |", c.name, median(bare), median(ours),
		median(ratios), slices.Min(ratios), slices.Max(ratios),
		latencies[len(latencies)/2].Round(time.Microsecond), latencies[len(latencies)*99/100].Round(time.Microsecond)), nil
}

// timed calls f for so long, and returns what each call took.
func timed(ctx context.Context, f func(context.Context) error, for_ time.Duration) ([]time.Duration, error) {
	var took []time.Duration
	for start := time.Now(); time.Since(start) < for_; {
		before := time.Now()
		if err := f(ctx); err != nil {
			return nil, err
		}
		took = append(took, time.Since(before))
	}
	return took, nil
}

func rate(took []time.Duration) float64 {
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	return float64(len(took)) / sum.Seconds()
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}
