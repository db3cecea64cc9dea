// Command mutants tests the tests: it builds the library with one defect after the other, and runs the tests
// that must find the defect.
//
// A defect is one of the changes that a generator makes to each function, and to each SQL and Lua file: to operators,
// conditions, statements, arguments and returns. A row of the table names the function and the kind of the change.
// The compiler reads the changed file through an overlay, so the released code needs no switches for defects. Each row
// lists tests. A run fails if one of these tests does not find the defect, or fails without any defect.
// It also fails if the changed code does not compile, or if the function no longer has such a change.
//
// With -random it draws the changes of one package. Such a defect is found if any test that executes the changed line
// fails or hangs.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

func main() {
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func command() error {
	only := flag.String("only", "", "run only the mutants whose name or place matches this pattern; with -random, try only the change with this identity")
	together := flag.Int("together", 2, "how many mutants to run at the same time")
	page := flag.String("markdown", "", "write the table to this file as well")
	sample := flag.Int("random", 0, "generate this number of random mutants instead")
	seed := flag.Uint64("seed", 1, "the seed of the random mutants")
	pkg := flag.String("pkg", ".", "the package to change, as a path from the root of the module")
	tests := flag.String("tests", "", "the packages whose tests must find a change, separated by commas (default: the changed package)")
	files := flag.String("files", `\.go$`, "draw changes of files whose name matches this pattern, as in sql/")
	skip := flag.String("skip", "^$", "leave out tests whose name matches this pattern")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	folder, err := os.MkdirTemp("", "rowlock-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	bench := bench{folder: folder}
	if *sample > 0 {
		d := draw{*sample, *seed, filepath.Clean(*pkg), *files, *only, strings.Split(cmp.Or(*tests, *pkg), ","), *skip}
		for i, in := range d.tests {
			d.tests[i] = filepath.Clean(in)
		}
		return bench.random(ctx, d, *together)
	}

	var chosen []mutant
	for _, m := range mutants() {
		if pattern := regexp.MustCompile(*only); pattern.MatchString(m.name) || pattern.MatchString(m.place()) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("-only=%q: the pattern matches no mutant's name or place", *only)
	}
	if err := bench.sound(ctx, chosen); err != nil {
		return err
	}
	results := bench.run(ctx, chosen, *together)
	table := markdown(results)
	fmt.Print(table)
	if *page != "" {
		if err := os.WriteFile(*page, []byte(preamble+table), 0o644); err != nil {
			return err
		}
	}
	if n := caught(results); n < len(results) {
		return fmt.Errorf("%d of %d mutants caught", n, len(results))
	}
	return nil
}
