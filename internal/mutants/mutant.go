package main

import (
	"slices"
	"strings"
)

// mutant is a defect that the library might have.
type mutant struct {
	name   string  // what it does
	breaks string  // the promises that it breaks, and the properties of docs/torture
	edits  []edit  // more than one where a promise is kept twice, and only the defects together show
	tests  []suite // all of which must find it
}

// suite is some tests of one package.
type suite struct {
	pkg   string
	names []string // a subtest after a slash; leaks is what TestMain looks for when all are over
}

// leaks stands for the check that every goroutine has ended.
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

// place says where the defect is.
func (m mutant) place() string {
	var places []string
	for _, e := range m.edits {
		places = append(places, e.String())
	}
	return strings.Join(slices.Compact(places), ", ")
}

// mutated is the files with the defect.
func (m mutant) mutated() (map[string][]byte, error) {
	texts := map[string][]byte{}
	for _, e := range m.edits {
		if err := e.apply(texts); err != nil {
			return nil, err
		}
	}
	return texts, nil
}
