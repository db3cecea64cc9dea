package main

import (
	"context"
	"slices"
	"time"
)

func (m meter) read(ctx context.Context) (float64, error) {
	if m == nil {
		return 0, nil
	}
	return m(ctx)
}

// timed calls f repeatedly for the duration span, and returns how long each call took.
// A call that takes too long is cancelled.
func timed(ctx context.Context, f func(context.Context) error, span time.Duration) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, span+30*time.Second)
	defer cancel()
	var took []time.Duration
	for start := time.Now(); time.Since(start) < span; {
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

// medians returns the median of each figure, if more than half of the repeats have that figure.
func medians(repeats []map[string]float64) map[string]float64 {
	values := map[string][]float64{}
	for _, r := range repeats {
		for key, v := range r {
			values[key] = append(values[key], v)
		}
	}
	m := map[string]float64{}
	for key, v := range values {
		if 2*len(v) > len(repeats) {
			m[key] = median(v)
		}
	}
	return m
}

// percentile returns the n-th percentile in microseconds, with one decimal digit.
func percentile(of []time.Duration, n int) float64 {
	slices.Sort(of)
	return float64(of[len(of)*n/100].Nanoseconds()/100) / 10
}
