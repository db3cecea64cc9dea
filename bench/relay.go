package main

import (
	"fmt"
	"slices"
	"time"
)

// passes are the times from the call of each release to the return of the next acquire.
func passes(events []event) (took []time.Duration) {
	var released time.Time
	for _, e := range events {
		switch e.kind {
		case "released":
			released = e.at
		case "got":
			if !released.IsZero() {
				took = append(took, e.at.Sub(released))
			}
			released = time.Time{}
		}
	}
	return took
}

func relayFigures(events []event, d time.Duration) (map[string]float64, error) {
	took := passes(events)
	if len(took) == 0 {
		return nil, fmt.Errorf("nothing was handed over in %s", d.Round(time.Millisecond))
	}
	if two := holders(events); two > 0 {
		return nil, fmt.Errorf("two held it at once, %d times", two)
	}
	slices.Sort(took)
	return map[string]float64{
		"n": float64(len(took)), "p50_us": percentile(took, 50), "p99_us": percentile(took, 99), "per_s": float64(len(took)) / d.Seconds(),
	}, nil
}

// holders counts how often somebody got the lock while another one had it.
func holders(events []event) (two int) {
	holding := -1
	for _, e := range events {
		switch e.kind {
		case "got":
			if holding >= 0 {
				two++
			}
			holding = e.member
		case "released":
			holding = -1
		}
	}
	return two
}

// greedFigures are who got how much when all take what they can. With few for each it would be chance.
func greedFigures(figures map[string]float64, events []event, members int, d time.Duration) {
	served, n := make([]int, members), 0
	for _, e := range events {
		if e.kind == "got" {
			served[e.member]++
			n++
		}
	}
	figures["greedy_per_s"] = float64(n) / d.Seconds()
	if n >= 10*members {
		figures["least"] = float64(slices.Min(served)) * float64(members) / float64(n)
	}
}
