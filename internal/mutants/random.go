package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
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
	only   string // the identity of the only change to try
	tests  []string
	skip   string // a pattern of the tests that are left out
}

// order sorts the changes by a hash of the seed and the identity of each change. So the same seed draws the same changes
// from the functions that are as they were, whatever has changed in others. A new change may replace the last ones of a
// sample.
func (d draw) order(changes []change) {
	hash := func(c change) uint64 {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", d.seed, d.pkg, c))
		return binary.BigEndian.Uint64(sum[:])
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(hash(a), hash(b)) })
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
	changes, err := changesOf(d.pkg, d.files)
	if err != nil {
		return err
	}
	d.order(changes)
	if d.only != "" {
		changes = slices.DeleteFunc(changes, func(c change) bool { return c.String() != d.only })
		if len(changes) == 0 {
			return fmt.Errorf("package %s has no change %q", d.pkg, d.only)
		}
	}
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
				became, by, err := b.expose(ctx, d.pkg, c, tests, strconv.Itoa(id))
				mu.Lock()
				if became == unfit {
					tried--
				} else if err == nil {
					fmt.Printf("%s (%s:%d) %s %s\n", c, c.path, c.at[0], became, by)
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
	fmt.Printf("To repeat one: make mutants-random PKG=./%s WITH=%s FLAGS=\"-only='IDENTITY'\", where the identity is the text before the file\n",
		d.pkg, strings.Join(d.tests, ","))
	return broken
}

// expose runs the tests that cover c, the quick tests first, until one finds the change.
func (b bench) expose(ctx context.Context, pkg string, c change, tests []covering, id string) (became outcome, by string, err error) {
	texts, err := mutated(c)
	if err != nil {
		return "", "", err
	}
	overlay, err := b.overlay(texts, id)
	if err != nil {
		return "", "", err
	}
	if exec.CommandContext(ctx, "go", "build", "-overlay="+overlay, "./"+pkg).Run() != nil {
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
