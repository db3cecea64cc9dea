package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
)

// mutant is a defect that the library might have.
type mutant struct {
	name     string  // what it does
	breaks   string  // the promises that it breaks, and the properties of docs/torture
	file     string  // from the root of the module
	old, new string  // what stands in the file, exactly once, and what in its place
	tests    []suite // all of which must find it
}

// and is between two places, in old and in new, and between their files if there is more than one: some promises are kept
// twice, and only the two defects together show.
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

// mutated is the files with the defect.
func (m mutant) mutated() (map[string][]byte, error) {
	texts := map[string][]byte{}
	files, becomes := strings.Split(m.file, and), strings.Split(m.new, and)
	for i, old := range strings.Split(m.old, and) {
		file := files[min(i, len(files)-1)]
		text, ok := texts[file]
		if !ok {
			var err error
			if text, err = os.ReadFile(file); err != nil {
				return nil, err
			}
		}
		if n := bytes.Count(text, []byte(old)); n != 1 {
			return nil, fmt.Errorf("%s has %d times what is to be replaced, not once: %q", file, n, old)
		}
		texts[file] = bytes.Replace(text, []byte(old), []byte(becomes[i]), 1)
	}
	return texts, nil
}
