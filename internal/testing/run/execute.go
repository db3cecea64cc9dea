package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// result is one run of a package's tests.
type result struct {
	of     pkg
	err    error
	took   time.Duration
	used   time.Duration // processor time of the tests and of the processes that they started
	output []byte
}

// execute runs the test programs, and prints what each has found. The error says how many runs have failed.
func execute(ctx context.Context, o options, packages []pkg) error {
	var (
		mu      sync.Mutex
		group   sync.WaitGroup
		results []result
		places  = make(chan struct{}, max(1, o.together))
	)
	for round := range o.repeat {
		for _, p := range packages {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				continue
			}
			group.Go(func() {
				defer func() { <-places }()
				r := o.test(ctx, p, len(packages) == 1 && o.repeat == 1)
				mu.Lock()
				defer mu.Unlock()
				results = append(results, r)
				r.print(o, round)
			})
		}
	}
	group.Wait()
	if o.repeat > 1 {
		printShares(os.Stdout, results)
	}
	failed := 0
	for _, r := range results {
		if r.err != nil {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d runs failed", failed, len(results))
	}
	return nil
}

// test runs the tests of one package. It also copies their output to the terminal while they run, if this is the only
// package.
func (o options) test(ctx context.Context, p pkg, alone bool) result {
	args := []string{"-test.paniconexit0", "-test.timeout=" + o.limit.String(), fmt.Sprintf("-test.parallel=%d", o.parallel)}
	if o.run != "" {
		args = append(args, "-test.run="+o.run)
	}
	if o.skip != "" {
		args = append(args, "-test.skip="+o.skip)
	}
	if o.verbose {
		args = append(args, "-test.v")
	}
	cmd := exec.CommandContext(ctx, p.binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // prints what each goroutine does
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir = p.dir
	// A raced process need not wait a second at its end for goroutines: the tests see to it that none is left.
	cmd.Env = append(os.Environ(), "PWD="+p.dir, "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	var output bytes.Buffer
	cmd.Stdout = &output
	if alone && o.verbose {
		cmd.Stdout = io.MultiWriter(&output, os.Stdout)
	}
	cmd.Stderr = cmd.Stdout
	begin := time.Now()
	err := cmd.Run()
	r := result{of: p, err: err, took: time.Since(begin), output: output.Bytes()}
	if s := cmd.ProcessState; s != nil {
		r.used = s.UserTime() + s.SystemTime()
	}
	if alone && o.verbose {
		r.output = nil
	}
	return r
}

// print prints a line as "go test" does, and what the tests have printed if they failed.
func (r result) print(o options, round int) {
	word, note := "ok  ", fmt.Sprintf("(processor: %.1fs)", r.used.Seconds())
	if r.err != nil {
		word = "FAIL"
	}
	if r.took > o.limit/3 {
		note += fmt.Sprintf(" (more than a third of its limit of %v)", o.limit)
	}
	if o.repeat > 1 {
		note += fmt.Sprintf(" (run %d)", round+1)
	}
	if r.err != nil || o.verbose {
		_, _ = os.Stdout.Write(r.output)
	}
	if exit := (*exec.ExitError)(nil); r.err != nil && !errors.As(r.err, &exit) {
		fmt.Println(r.err)
	}
	fmt.Printf("%s\t%s\t%.3fs\t%s\n", word, r.of.path, r.took.Seconds(), note)
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// printShares prints each test that has failed, and in how many of its package's runs. Of a test with subtests it prints
// only the subtests. A run that failed without naming a test, such as one that reached its time limit, counts for its
// package.
func printShares(w io.Writer, results []result) {
	runs, failures := map[string]int{}, map[[2]string]int{}
	for _, r := range results {
		runs[r.of.path]++
		if r.err == nil {
			continue
		}
		var names []string
		for _, m := range failedTest.FindAllSubmatch(r.output, -1) {
			names = append(names, string(m[1]))
		}
		if len(names) == 0 {
			failures[[2]string{r.of.path, "(no test is named: " + r.err.Error() + ")"}]++
		}
		for _, name := range names {
			if !slices.ContainsFunc(names, func(other string) bool { return strings.HasPrefix(other, name+"/") }) {
				failures[[2]string{r.of.path, name}]++
			}
		}
	}
	var lines [][2]string
	for line := range failures {
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b [2]string) int { return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1]) })
	for _, l := range lines {
		n, of := failures[l], runs[l[0]]
		fmt.Fprintf(w, "%s\t%s\tfailed in %d of %d runs (%.0f %%)\n", l[0], l[1], n, of, 100*float64(n)/float64(of))
	}
	if len(lines) == 0 {
		fmt.Fprintf(w, "no test failed in %d runs\n", len(results))
	}
}
