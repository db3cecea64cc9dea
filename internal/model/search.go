package model

import (
	"fmt"
	"slices"
)

// Step describes one atomic step of one party.
type Step struct {
	Who, What string
}

func (s Step) String() string { return s.Who + " " + s.What }

// State is one state of a model. Its String method describes it.
type State interface {
	comparable
	fmt.Stringer
}

// Model defines how states follow each other.
type Model[S State] interface {
	// Start returns the first state.
	Start() S
	// Next calls the function add for each step that is possible in the state s. Next passes the step and the state
	// after the step to add. Next is deterministic: for the same s, it adds the same steps.
	Next(s S, add func(Step, S))
}

// Result is the result of a search.
type Result struct {
	States int             // the number of visited states: all states, if there is no violation
	Depth  int             // the number of steps from the start to the last visited state
	Taken  map[string]bool // the steps that the search took: their [Step].What
	Trace  []string        // a shortest path to a violation; empty if there is none
}

// visit is a visited state. A visit also records the previous state, from which the search first reached this state.
// The step between these two states is not stored, because the method trace can compute it.
type visit[S State] struct {
	state S
	from  int32 // index of the visit from which this state was reached
}

// Search visits all states of m, breadth first, and stops at the first state for which the function broken returns
// true. It compares the states themselves and not their hashes, so it never confuses two states.
func Search[S State](m Model[S], broken func(S) bool) Result {
	start := m.Start()
	visits := []visit[S]{{state: start, from: -1}}
	seen := map[S]struct{}{start: {}}
	result := Result{Taken: make(map[string]bool)}

	level := 1 // the index of the first visit of the next depth
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
