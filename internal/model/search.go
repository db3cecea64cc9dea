package model

import (
	"fmt"
	"slices"
)

// Step is what one party does with nothing in between.
type Step struct {
	Who, What string
}

func (s Step) String() string { return s.Who + " " + s.What }

// State is everything that there is at one moment. It prints as what it holds.
type State interface {
	comparable
	fmt.Stringer
}

// Model says how states follow each other.
type Model[S State] interface {
	// Start is the state in which everything begins.
	Start() S
	// Next calls add with each step that is possible in s and the state that it leads to, the same
	// for the same s.
	Next(s S, add func(Step, S))
}

// Result is what a search found.
type Result struct {
	States int             // how many were visited: without a violation, all there are
	Depth  int             // steps from the start to the last of them
	Taken  map[string]bool // what was done at least once, by [Step].What
	Trace  []string        // a shortest way to a violation, empty if there is none
}

// visit is a state and how it was first reached. The step is not kept: it can be found again.
type visit[S State] struct {
	state S
	from  int32 // index of the visit before
}

// Search visits all states of m, breadth first, and stops at the first that is broken. The states
// themselves are compared, not their hashes, so none is taken for another.
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

// trace is the way from the start to visits[at], a line a step with the state after it.
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
