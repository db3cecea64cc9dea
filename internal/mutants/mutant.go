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

func mutants() []mutant { return slices.Concat(engine, waiting) }

// mutated is the file with the defect.
func (m mutant) mutated() ([]byte, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return nil, fmt.Errorf("%s has %d times what is to be replaced, not once: %q", m.file, n, m.old)
	}
	return []byte(strings.Replace(string(text), m.old, m.new, 1)), nil
}
