package main

import (
	"slices"
	"strings"
)

// mutant is a defect that the library might have.
type mutant struct {
	name   string  // what it does
	breaks string  // the promises and the properties of docs/torture that the defect breaks
	edits  []edit  // several if two parts of the code protect the same promise: only a defect in both parts breaks it
	tests  []suite // each of these tests must find the defect
}

// suite names tests of one package.
type suite struct {
	pkg   string
	names []string // names of tests, of subtests (as in Test/subtest), or the constant leaks
}

// leaks is the name that stands for a check in TestMain: every goroutine must have ended.
const leaks = "goleak"

func (s suite) pattern() string {
	var all []string
	for _, name := range s.names {
		if name != leaks {
			all = append(all, "^"+strings.ReplaceAll(name, "/", "$/^")+"$")
		}
	}
	return strings.Join(all, "|")
}

func mutants() []mutant {
	return slices.Concat(engine, waiting, rows, readers, fences, functions, mints, inherited)
}

// place returns the functions and files that the defect changes.
func (m mutant) place() string {
	var places []string
	for _, e := range m.edits {
		places = append(places, e.String())
	}
	return strings.Join(slices.Compact(places), ", ")
}

// mutated returns the changed files by path.
func (m mutant) mutated() (map[string][]byte, error) {
	texts := map[string][]byte{}
	for _, e := range m.edits {
		if err := e.apply(texts); err != nil {
			return nil, err
		}
	}
	return texts, nil
}
