package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// pkg is a package that has tests.
type pkg struct {
	module string // the folder of its module
	path   string // its import path
	dir    string // its folder, in which its tests run
	raced  bool
	binary string
}

// list returns the packages to test: those of the patterns, and all packages of the further modules. Those of -first
// come first.
func list(ctx context.Context, o options, patterns []string) (all []pkg, err error) {
	if len(patterns) > 0 {
		if all, err = matching(ctx, ".", patterns); err != nil {
			return nil, err
		}
	}
	for _, module := range split(o.modules) {
		some, err := matching(ctx, module, []string{"./..."})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no package of %q has tests", patterns)
	}
	unraced, first := split(o.unraced), split(o.first)
	for i := range all {
		all[i].raced = o.race && !isOne(all[i], unraced)
	}
	rank := func(p pkg) int {
		for i, name := range first {
			if isOne(p, []string{name}) {
				return i
			}
		}
		return len(first)
	}
	slices.SortStableFunc(all, func(a, b pkg) int { return rank(a) - rank(b) })
	return all, nil
}

// isOne reports whether the package is in one of the folders, which are written as for the go command: ./fence. The
// folder . is only the root itself.
func isOne(p pkg, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		f, err := filepath.Abs(f)
		return err == nil && f == p.dir
	})
}

// matching returns the packages of a module that match the patterns and have tests.
func matching(ctx context.Context, module string, patterns []string) (found []pkg, err error) {
	const format = `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{"\t"}}{{.Dir}}{{end}}`
	out, err := goCommand(ctx, module, append([]string{"list", "-f", format}, patterns...))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			found = append(found, pkg{module: module, path: path, dir: dir})
		}
	}
	return found, nil
}

// build builds the test programs into the folder. One go command builds all packages of a module whose names differ,
// since a program is named after the last element of its package's path.
func build(ctx context.Context, o options, packages []pkg, folder string) error {
	type batch struct {
		module string
		raced  bool
		turn   int // counts the packages of one module that have the same name
	}
	batches := map[batch][]*pkg{}
	var order []batch
	turns := map[batch]map[string]int{}
	for i := range packages {
		p := &packages[i]
		b := batch{module: p.module, raced: p.raced}
		if turns[b] == nil {
			turns[b] = map[string]int{}
		}
		name := nameOf(p.path)
		turns[b][name]++
		b.turn = turns[b][name]
		if batches[b] == nil {
			order = append(order, b)
		}
		batches[b] = append(batches[b], p)
	}
	for i, b := range order {
		into := filepath.Join(folder, strconv.Itoa(i)) + string(filepath.Separator)
		if err := os.Mkdir(into, 0o755); err != nil { //nolint:gosec // tests of the command start programs as other users
			return err
		}
		args := []string{"test", "-c", "-vet=off", "-o", into} // make lint vets
		if b.raced {
			// The SQLite of modernc.org is C that was translated. The detector makes it many times slower, and finds nothing in it.
			args = append(args, "-race", "-gcflags=modernc.org/...=-race=false")
		}
		for _, p := range batches[b] {
			args = append(args, p.path)
			p.binary = filepath.Join(into, nameOf(p.path)+".test")
		}
		if _, err := goCommand(ctx, b.module, args); err != nil {
			return err
		}
	}
	return nil
}

// nameOf returns the name that the go command gives a package's test program, without the suffix. It is the last
// element of the path, or the one before if the last is a major version.
func nameOf(path string) string {
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	if n, err := strconv.Atoi(strings.TrimPrefix(last, "v")); err == nil && strings.HasPrefix(last, "v") && n > 1 && len(parts) > 1 {
		return parts[len(parts)-2]
	}
	return last
}

// goCommand runs the go command in a module's folder, and returns what it prints.
func goCommand(ctx context.Context, module string, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"-C", module}, args...)...)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go -C %s %s: %w\n%s%s", module, args[0], err, problem.String(), out.String())
	}
	return out.String(), nil
}
