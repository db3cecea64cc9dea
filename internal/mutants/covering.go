package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// covering is one test, and the blocks of the changed package that the test executes.
type covering struct {
	pkg, name string
	took      time.Duration
	blocks    []block
}

// block is a sequence of statements in one file, as Go's coverage profiles list it.
type block struct {
	file     string // without its folder
	from, to [2]int // line and column
	ran      bool
}

// coverings runs each test alone, and returns the blocks of the package that it executes. A test that fails on the
// code without a defect cannot find one. The result all leaves that test out, and the result broken contains its
// error.
func (b bench) coverings(ctx context.Context, d draw, together int) (all []covering, broken, err error) {
	skip, err := regexp.Compile(d.skip)
	if err != nil {
		return nil, nil, err
	}
	for i, in := range d.tests {
		program := filepath.Join(b.folder, "covering"+strconv.Itoa(i)+".test")
		if err := build(ctx, in, program, "-cover", "-coverpkg=./"+d.pkg); err != nil {
			return nil, nil, err
		}
		cmd := exec.CommandContext(ctx, program, "-test.list=^(Test|Example|Fuzz)")
		cmd.Dir = in
		list, err := cmd.Output()
		if err != nil {
			return nil, nil, fmt.Errorf("the tests of %s: %w", in, err)
		}
		names := slices.DeleteFunc(strings.Fields(string(list)), skip.MatchString)
		found, errs := make([]covering, len(names)), make([]error, len(names))
		var group sync.WaitGroup
		turns := make(chan struct{}, together)
		for j, name := range names {
			turns <- struct{}{}
			group.Go(func() {
				defer func() { <-turns }()
				found[j], errs[j] = cover(ctx, in, name, program, fmt.Sprintf("%s.%d", program, j))
			})
		}
		group.Wait()
		for j, err := range errs {
			if err == nil {
				all = append(all, found[j])
			}
		}
		broken = errors.Join(append(errs, broken)...)
	}
	return all, broken, nil
}

func cover(ctx context.Context, pkg, name, program, profile string) (covering, error) {
	start := time.Now()
	cmd := exec.CommandContext(ctx, program, "-test.run=^"+name+"$", "-test.coverprofile="+profile, "-test.timeout=5m")
	cmd.Dir, cmd.Env = pkg, environment()
	if output, err := cmd.CombinedOutput(); err != nil {
		return covering{}, fmt.Errorf("%s without any defect: %w\n%s", name, err, output)
	}
	c := covering{pkg: pkg, name: name, took: time.Since(start)}
	f, err := os.Open(profile)
	if err != nil {
		return c, err
	}
	defer f.Close()
	defer os.Remove(profile)
	lines := bufio.NewScanner(f)
	lines.Scan() // the mode
	for lines.Scan() {
		var k block
		var statements, count int
		file, rest, _ := strings.Cut(lines.Text(), ":")
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &k.from[0], &k.from[1], &k.to[0], &k.to[1], &statements, &count); err != nil {
			return c, fmt.Errorf("the coverage of %s: %w", name, err)
		}
		k.file, k.ran = path.Base(file), count > 0
		c.blocks = append(c.blocks, k)
	}
	return c, lines.Err()
}

// covers reports whether the test may execute the changed code. Go's coverage has no blocks for the expressions of a
// case. A test covers a change in such an expression if it executes the surrounding function. Go's coverage has no
// blocks outside of functions either. A change in such code counts as covered by every test.
func (c covering) covers(d change) bool {
	if d.function == [2]int{} {
		return true
	}
	counted, entered := false, false
	for _, k := range c.blocks {
		switch {
		case k.file != filepath.Base(d.path):
		case k.holds(d.at[:]...):
			if k.ran {
				return true
			}
			counted = true
		case k.ran && k.from[0] >= d.function[0] && k.to[0] <= d.function[1]:
			entered = true
		}
	}
	return entered && !counted
}

func (k block) holds(at ...int) bool {
	return slices.Compare(k.from[:], at) <= 0 && slices.Compare(at, k.to[:]) < 0
}
