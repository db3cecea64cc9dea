package main

import (
	"cmp"
	"fmt"
	gobuild "go/build"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// change is one generated defect. It replaces the bytes of a file from the offset start to the offset end.
//
// Its identity consists of the place, the kind, and its number among the equal ones of that place. It contains no line
// number, so code can move, and other code can change, without effect on the identity.
type change struct {
	place      string // the function, as in Lease.confirm, or the file below the package's folder, as in sql/check.sql
	kind       string // what becomes of which part, as in "drop call wake" or "hold >= -> >"
	nth, of    int    // the changes of one place and kind are numbered from 1
	path       string // the file, from the root of the module
	start, end int
	new        string
	at         [2]int // line and column of start
	function   [2]int // the first and the last line of the surrounding Go function; zero outside of functions
}

// String returns the identity. The number has the form #2/3, so that a row of the table does not silently name another
// change when a function gets one more of the same kind.
func (c change) String() string {
	if c.of > 1 {
		return fmt.Sprintf("%s: %s #%d/%d", c.place, c.kind, c.nth, c.of)
	}
	return c.place + ": " + c.kind
}

// changesOf returns all changes of a package: those of the Go files that are built on this system, and those of the SQL
// and Lua files that are embedded in them. Only files whose path in the package matches the pattern are read.
func changesOf(folder, pattern string) ([]change, error) {
	chosen, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	pkg, err := gobuild.ImportDir(folder, 0)
	if err != nil {
		return nil, err
	}
	files, tree := pkg.GoFiles, os.DirFS(folder)
	for _, p := range pkg.EmbedPatterns {
		matches, err := fs.Glob(tree, p)
		if err != nil {
			return nil, err
		}
		for _, m := range matches {
			_ = fs.WalkDir(tree, m, func(path string, d fs.DirEntry, err error) error {
				if !slices.Contains(files, path) {
					files = append(files, path)
				}
				return err
			})
		}
	}
	var all []change
	for _, file := range files {
		read, known := generators[filepath.Ext(file)]
		if !known || !chosen.MatchString(file) {
			continue
		}
		path := filepath.Join(folder, filepath.FromSlash(file))
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		some, err := read(file, string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for i := range some {
			some[i].path = path
		}
		all = append(all, some...)
	}
	return numbered(all), nil
}

var generators = map[string]func(file, text string) ([]change, error){".go": changesOfGo, ".sql": changesOfSQL, ".lua": changesOfSQL}

// numbered sets the number of each change among those of the same place and kind.
func numbered(all []change) []change {
	same := map[string]int{}
	for i, c := range all {
		same[c.String()]++
		all[i].nth = same[c.String()]
	}
	for i, c := range all {
		all[i].of = same[change{place: c.place, kind: c.kind}.String()]
	}
	return all
}

// mutated returns the text of each file after the changes, by path.
func mutated(changes ...change) (map[string][]byte, error) {
	texts := map[string][]byte{}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(b.start, a.start) }) // from the end of the file to its beginning
	before := map[string]int{}
	for _, c := range changes {
		text, known := texts[c.path]
		if !known {
			var err error
			if text, err = os.ReadFile(c.path); err != nil {
				return nil, err
			}
		} else if c.end > before[c.path] {
			return nil, fmt.Errorf("two changes of one mutant overlap: %s", c)
		}
		texts[c.path], before[c.path] = slices.Concat(text[:c.start], []byte(c.new), text[c.end:]), c.start
	}
	return texts, nil
}
