package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

// mutant is a defect that the library might have.
type mutant struct {
	name   string  // what it does
	breaks string  // the promises and the properties of docs/torture that the defect breaks
	sites  []site  // several if two parts of the code protect the same promise: only a defect in both parts breaks it
	tests  []suite // each of these tests must find the defect
}

// site identifies a change of one package.
type site struct{ folder, change string }

// The function in returns the sites of the changes with these identities in the package in the folder.
func in(folder string, changes ...string) (all []site) {
	for _, c := range changes {
		all = append(all, site{folder, c})
	}
	return all
}

// place returns the path of the package and the function or the file that changes.
func (s site) place() string {
	place, _, _ := strings.Cut(s.change, ": ")
	return path.Join(s.folder, place)
}

// suite names tests of one package.
type suite struct {
	pkg   string
	names []string // names of tests and of subtests, as in Test/subtest
}

// The function of returns a suite of the tests of a package with these names.
func of(pkg string, names ...string) []suite { return []suite{{pkg, names}} }

func (s suite) pattern() string {
	var all []string
	for _, name := range s.names {
		all = append(all, "^"+strings.ReplaceAll(name, "/", "$/^")+"$")
	}
	return strings.Join(all, "|")
}

func mutants() []mutant { return slices.Concat(engine, statements) }

// place returns the functions and files that the defect changes.
func (m mutant) place() string {
	var places []string
	for _, s := range m.sites {
		places = append(places, s.place())
	}
	return strings.Join(slices.Compact(places), ", ")
}

// mutated returns the changed files by path.
func (m mutant) mutated() (map[string][]byte, error) {
	var changes []change
	for _, s := range m.sites {
		c, err := s.find()
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return mutated(changes...)
}

var packages sync.Map // the changes of each package that were generated already

// find returns the change. If there is none, the error lists the changes that the function or the file has now. If the
// function does not exist, the error lists the functions that have such a change.
func (s site) find() (change, error) {
	loaded, known := packages.Load(s.folder)
	if !known {
		changes, err := changesOf(s.folder, "")
		if err != nil {
			return change{}, err
		}
		loaded, _ = packages.LoadOrStore(s.folder, changes)
	}
	place, kind, _ := strings.Cut(s.change, ": ")
	kind, _, _ = strings.Cut(kind, " #")
	var here, elsewhere []string
	for _, c := range loaded.([]change) {
		switch {
		case c.String() == s.change:
			return c, nil
		case c.place == place:
			here = append(here, c.String())
		case c.kind == kind:
			elsewhere = append(elsewhere, c.String())
		}
	}
	if here == nil {
		here = elsewhere
	}
	return change{}, fmt.Errorf("package %s has no change %q. Choose one of these:\n\t%s", s.folder, s.change, strings.Join(here, "\n\t"))
}
