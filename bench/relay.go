package main

import (
	"fmt"
	"slices"
	"time"
)

// passes returns the duration of each hand-over: the time between the call of a release and the return of the next
// acquire of the same slot.
func passes(events []event) (took []time.Duration) {
	released := map[int]time.Time{} // by slot
	for _, e := range events {
		switch e.kind {
		case "released":
			released[e.slot] = e.at
		case "got":
			if at, ok := released[e.slot]; ok {
				took = append(took, e.at.Sub(at))
			}
			delete(released, e.slot)
		}
	}
	return took
}

func relayFigures(events []event, d time.Duration) (map[string]float64, error) {
	took := passes(events)
	if len(took) == 0 {
		return nil, fmt.Errorf("no hand-over within %s", d.Round(time.Millisecond))
	}
	if two := holders(events); two > 0 {
		return nil, fmt.Errorf("two processes held the lock at the same time, %d times", two)
	}
	slices.Sort(took)
	return map[string]float64{
		"n": float64(len(took)), "p50_us": percentile(took, 50), "p99_us": percentile(took, 99), "per_s": float64(len(took)) / d.Seconds(),
	}, nil
}

// holders counts how often a member acquired a slot while another member still held it.
func holders(events []event) (two int) {
	holding := map[int]bool{} // by slot
	for _, e := range events {
		switch e.kind {
		case "got":
			if holding[e.slot] {
				two++
			}
			holding[e.slot] = true
		case "released":
			holding[e.slot] = false
		}
	}
	return two
}

// greedFigures adds figures for members that all acquire as often as they can: grants per second,
// and the share of the least served member. With few grants per member, that share would be random, so it is omitted.
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
