// Command run builds the tests of packages, and then runs them:
//
//	go run ./internal/testing/run -modules=examples/cron ./...
//
// "go test ./..." compiles and links packages while others are being tested, and starts as many tests at once as there
// are packages times -parallel. On two cores, the time limits in tests then meet a machine that the tests themselves
// have filled. This command first builds everything. Then it runs as many packages at once as there are cores, those
// first that take longest. It prints the processor time of each package beside its seconds.
//
// With -repeat it runs the packages many times, and prints each test that has failed, with its share. With -load it
// keeps cores busy meanwhile. "make flakes" uses both.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// options are the flags of the command.
type options struct {
	race     bool
	unraced  string
	modules  string
	first    string
	run      string
	skip     string
	verbose  bool
	parallel int
	together int
	repeat   int
	load     int
	limit    time.Duration
}

func main() {
	var o options
	flag.BoolVar(&o.race, "race", false, "build the tests with the race detector")
	flag.StringVar(&o.unraced, "unraced", "", "with -race: packages to build without the detector, separated by commas")
	flag.StringVar(&o.modules, "modules", "", "folders of further modules, whose packages are tested as well, separated by commas")
	flag.StringVar(&o.first, "first", "", "packages to start first, because they take longest, separated by commas")
	flag.StringVar(&o.run, "run", "", "run only the tests that match this pattern")
	flag.StringVar(&o.skip, "skip", "", "run no tests that match this pattern")
	flag.BoolVar(&o.verbose, "v", false, "print the output of tests that pass, too")
	flag.IntVar(&o.parallel, "parallel", 4, "how many tests of one package run at once")
	flag.IntVar(&o.together, "together", runtime.NumCPU(), "how many packages are tested at once")
	flag.IntVar(&o.repeat, "repeat", 1, "how many times each package is tested")
	flag.IntVar(&o.load, "load", 0, "how many busy loops run beside the tests")
	flag.DurationVar(&o.limit, "timeout", 15*time.Minute, "the time limit of a package")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, o options, patterns []string) error {
	packages, err := list(ctx, o, patterns)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "rowlock-tests-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	begin := time.Now()
	if err := build(ctx, o, packages, folder); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "run: built %d packages in %.0f s, %.1f processor minutes\n", len(packages), time.Since(begin).Seconds(), used().Minutes())

	built := used()
	defer keepBusy(o.load)()
	begin = time.Now()
	failed := execute(ctx, o, packages)
	fmt.Fprintf(os.Stderr, "run: tested %d packages in %.0f s, %.1f processor minutes without the servers\n", len(packages), time.Since(begin).Seconds(), (used() - built).Minutes())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return failed
}

// used returns the processor time of all processes that this one has started and that have ended.
func used() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u) // fails only for invalid arguments
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// split returns the parts of a list that is separated by commas.
func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
