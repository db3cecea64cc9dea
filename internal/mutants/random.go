package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// draw describes which random mutants of a package are tried, and which tests must find them.
type draw struct {
	sample int
	seed   uint64
	pkg    string
	files  string // a pattern of the names of files to change
	tests  []string
	skip   string // a pattern of the tests that are left out
}

// outcome tells whether tests have found a change.
type outcome string

const (
	killed    outcome = "is caught by"
	lived     outcome = "SURVIVES"
	uncovered outcome = "IS RUN BY NO TEST"
	unfit     outcome = "does not compile"
)

// The method random tries changes of a package until enough of them have compiled. Their order is random, and the seed
// determines it.
func (b bench) random(ctx context.Context, d draw, together int) error {
	changes, err := changesOf(ctx, d.pkg, d.files)
	if err != nil {
		return err
	}
	rand.New(rand.NewPCG(d.seed, 0)).Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	tests, broken, err := b.coverings(ctx, d, together)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var next, tried int
	counts := map[outcome]int{}
	var failure error
	var group sync.WaitGroup
	for range together {
		group.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for next < len(changes) && tried < d.sample && failure == nil {
				id, c := next, changes[next]
				next++
				tried++
				mu.Unlock()
				became, by, err := b.expose(ctx, c, tests, strconv.Itoa(id))
				mu.Lock()
				if became == unfit {
					tried--
				} else if err == nil {
					fmt.Println(c, became, by)
				}
				counts[became]++
				failure = errors.Join(failure, err)
			}
		})
	}
	group.Wait()
	if failure != nil {
		return failure
	}
	fmt.Printf("%s with seed %d: %d of %d mutants caught, %d survive, %d are run by no test\n",
		d.pkg, d.seed, counts[killed], tried, counts[lived], counts[uncovered])
	return broken
}

// changesOf returns all changes of the files of pkg that are built on this system and whose names match the pattern.
func changesOf(ctx context.Context, pkg, pattern string) ([]change, error) {
	chosen, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	files, err := exec.CommandContext(ctx, "go", "list", "-f", `{{join .GoFiles "\n"}}`, "./"+pkg).Output()
	if err != nil {
		return nil, err
	}
	var all []change
	for _, file := range strings.Fields(string(files)) {
		if !chosen.MatchString(file) {
			continue
		}
		some, err := generate(filepath.Join(pkg, file))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// expose runs the tests that cover c, the quick tests first, until one finds the change.
func (b bench) expose(ctx context.Context, c change, tests []covering, id string) (became outcome, by string, err error) {
	texts, err := c.mutated()
	if err != nil {
		return "", "", err
	}
	overlay, err := b.overlay(texts, id)
	if err != nil {
		return "", "", err
	}
	if exec.CommandContext(ctx, "go", "build", "-overlay="+overlay, "./"+filepath.Dir(c.file)).Run() != nil {
		return unfit, "", ctx.Err()
	}
	became = uncovered
	built := map[string]bool{}
	for _, r := range rounds(c, tests) {
		program := filepath.Join(b.folder, id+"-"+strings.ReplaceAll(r.pkg, "/", "-")+".test")
		if !built[program] {
			if err := build(ctx, r.pkg, program, "-overlay="+overlay); err != nil {
				return "", "", err
			}
			built[program] = true
			defer os.Remove(program)
		}
		if by := r.fails(ctx, program); by != "" {
			return killed, by, ctx.Err()
		}
		became = lived
	}
	return became, "", ctx.Err()
}

// round is a group of tests of one package that are run together.
type round struct {
	suite
	took time.Duration // how long the tests take one after the other without a defect
}

// rounds returns the tests that cover c in groups, with the quick tests of each package first.
func rounds(c change, tests []covering) []round {
	var all []round
	for _, quick := range []bool{true, false} {
		byPackage := map[string]round{}
		for _, t := range tests {
			if t.covers(c) && quick == (t.took < time.Second) {
				r := byPackage[t.pkg]
				r.pkg, r.names, r.took = t.pkg, append(r.names, t.name), r.took+t.took
				byPackage[t.pkg] = r
			}
		}
		for _, pkg := range slices.Sorted(maps.Keys(byPackage)) {
			all = append(all, byPackage[pkg])
		}
	}
	return all
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)|^(goleak): Errors|^panic: test (timed out)`)

// The method fails runs the tests. If a test fails, it returns the test's name. For any other failure it returns a
// description. If all tests pass, it returns an empty text.
func (r round) fails(ctx context.Context, program string) (by string) {
	limit := 30*time.Second + 3*r.took
	cmd := exec.CommandContext(ctx, program, "-test.failfast", "-test.timeout="+limit.String(), "-test.run="+r.pattern())
	cmd.Dir, cmd.Env = r.pkg, environment()
	output, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	if found := failed.FindStringSubmatch(string(output)); found != nil {
		return strings.Join(found[1:], "")
	}
	return err.Error()
}
