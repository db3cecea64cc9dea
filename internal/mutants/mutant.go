package main

import (
	"slices"
	"strings"
)

// mutant is a defect that the library might have.
type mutant struct {
	name   string  // what it does
	breaks string  // the promises that the defect breaks, and the properties of docs/torture
	edits  []edit  // more than one if two parts of the code keep the same promise, so that only both defects together show
	tests  []suite // the tests that must find the defect, each of them
}

// suite names tests of one package.
type suite struct {
	pkg   string
	names []string // a subtest is written after a slash; the name leaks is the check for goroutines in TestMain
}

// leaks is the name for the check in TestMain that every goroutine has ended.
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

func mutants() []mutant { return slices.Concat(engine, waiting, rows, fences) }

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
