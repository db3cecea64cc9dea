package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// mutant is a defect that the library might have.
type mutant struct {
	name     string // what it does
	breaks   string // the promise of DESIGN.md, or the property of docs/torture, that it breaks
	file     string // from the root of the module
	old, new string // what stands in the file, exactly once, and what in its place
	tests    suite  // all of which must find it
}

// and is between two places of one file, in old and in new.
const and = "\x00"

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

// mutated is the file with the defect.
func (m mutant) mutated() ([]byte, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return nil, err
	}
	mutated := string(text)
	becomes := strings.Split(m.new, and)
	for i, old := range strings.Split(m.old, and) {
		if n := strings.Count(mutated, old); n != 1 {
			return nil, fmt.Errorf("%s has %d times what is to be replaced, not once: %q", m.file, n, old)
		}
		mutated = strings.Replace(mutated, old, becomes[i], 1)
	}
	return []byte(mutated), nil
}
