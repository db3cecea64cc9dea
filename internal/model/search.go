package model

import (
	"fmt"
	"slices"
)

// Step is what one party does in one atomic step.
type Step struct {
	Who, What string
}

func (s Step) String() string { return s.Who + " " + s.What }

// State is everything that exists at one moment. It prints its contents.
type State interface {
	comparable
	fmt.Stringer
}

// Model defines how states follow each other.
type Model[S State] interface {
	// Start returns the first state.
	Start() S
	// Next calls add with each step that is possible in s and the state after it. It adds the same steps for
	// the same s.
	Next(s S, add func(Step, S))
}

// Result is the result of a search.
type Result struct {
	States int             // number of visited states: all of them if there is no violation
	Depth  int             // steps from the start to the last visited state
	Taken  map[string]bool // steps that were taken at least once, by [Step].What
	Trace  []string        // a shortest path to a violation; empty if there is none
}

// visit is a state and the state from which it was first reached. The step is not stored, because it can be
// found again.
type visit[S State] struct {
	state S
	from  int32 // index of the visit before
}

// Search visits all states of m, breadth first, and stops at the first state for which broken returns true.
// It compares the states themselves and not their hashes, so it never confuses two states.
func Search[S State](m Model[S], broken func(S) bool) Result {
	start := m.Start()
	visits := []visit[S]{{state: start, from: -1}}
	seen := map[S]struct{}{start: {}}
	result := Result{Taken: make(map[string]bool)}

	level := 1 // where the next depth begins
	for at := 0; at < len(visits); at++ {
		if at == level {
			result.Depth++
			level = len(visits)
		}
		if broken(visits[at].state) {
			result.Trace = trace(m, visits, at)
			break
		}
		m.Next(visits[at].state, func(step Step, to S) {
			result.Taken[step.What] = true
			if _, known := seen[to]; !known {
				seen[to] = struct{}{}
				visits = append(visits, visit[S]{state: to, from: int32(at)})
			}
		})
	}
	result.States = len(visits)
	return result
}

// trace returns the path from the start to visits[at]: a line for each step, with the state after it.
func trace[S State](m Model[S], visits []visit[S], at int) []string {
	var lines []string
	for ; visits[at].from >= 0; at = int(visits[at].from) {
		to, line := visits[at].state, ""
		m.Next(visits[visits[at].from].state, func(step Step, next S) {
			if line == "" && next == to {
				line = fmt.Sprintf("%-42s %s", step, to)
			}
		})
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return lines
}
