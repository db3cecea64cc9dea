package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// contender is one way of doing what others do too.
type contender struct {
	name  string
	cycle func(context.Context) error
	close func() // nil if there is nothing to close
}

// meter reads a count that a server keeps, such as its commits.
type meter func(context.Context) (float64, error)

// contest is several contenders on one store. The first is the floor, which the ratios are to.
type contest struct {
	store      string
	contenders []contender
	count      meter // nil if nothing is counted
	counted    string
}

// contest measures all in turn, round by round, and prints a row for each.
func (p runs) contest(ctx context.Context, c contest) error {
	defer func() {
		for _, one := range c.contenders {
			if one.close != nil {
				one.close()
			}
		}
	}()
	scores := make([]score, len(c.contenders))
	for _, one := range c.contenders {
		if _, err := timed(ctx, one.cycle, p.round/4); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	for round := range p.rounds {
		for turn := range c.contenders {
			i := (round + turn) % len(c.contenders)
			if err := scores[i].round(ctx, p, c.contenders[i], c.count); err != nil {
				return fmt.Errorf("%s: %w", c.contenders[i].name, err)
			}
		}
	}
	fmt.Printf("%d rounds of %s each, in turn:\n\n", p.rounds, p.round)
	title, line := "| "+c.store+" | per s | ratio (min–max of the rounds) | p50 | p99 |", "| --- | ---: | ---: | ---: | ---: |"
	if c.count != nil {
		title, line = title+" "+c.counted+" |", line+" ---: |"
	}
	fmt.Println(title)
	fmt.Println(line)
	for i, one := range c.contenders {
		fmt.Println(scores[i].row(one.name, scores[0]))
	}
	fmt.Println()
	return nil
}

// score is what one contender did, round by round.
type score struct {
	rates     []float64
	latencies []time.Duration
	counts    []float64 // for each cycle
}

func (s *score) round(ctx context.Context, p runs, one contender, count meter) error {
	before, err := count.read(ctx)
	if err != nil {
		return err
	}
	took, err := timed(ctx, one.cycle, p.round)
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

func (m meter) read(ctx context.Context) (float64, error) {
	if m == nil {
		return 0, nil
	}
	return m(ctx)
}

func (s *score) row(name string, floor score) string {
	ratios := make([]float64, len(s.rates))
	for i := range ratios {
		ratios[i] = s.rates[i] / floor.rates[i]
	}
	slices.Sort(s.latencies)
	row := fmt.Sprintf("| %s | %.0f | **%.2f** (%.2f–%.2f) | %s | %s |", name, median(s.rates), median(ratios), slices.Min(ratios), slices.Max(ratios),
		percentile(s.latencies, 50), percentile(s.latencies, 99))
	if s.counts != nil {
		row += fmt.Sprintf(" %.2f |", median(s.counts))
	}
	return row
}

// percentile of what is sorted.
func percentile(sorted []time.Duration, n int) time.Duration {
	return sorted[len(sorted)*n/100].Round(time.Microsecond)
}
