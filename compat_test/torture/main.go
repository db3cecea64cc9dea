//go:build linux

// Command torture runs a store's locks under faults, with many processes, and checks the history that the processes wrote:
//
// make torture BACKEND=postgres SEED=42 FOR=10m
//
// The seed determines all faults before the first fault happens; the flag -plan prints them. Processes and servers are real, so a
// second run with the same plan has a different history. If the check fails, the history stays in its folder. The flag -check
// checks a history again.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/compat_test/torture/check"
	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// settings are the settings of one run.
type settings struct {
	seed      uint64
	workers   int
	ttl, long time.Duration
	grace     time.Duration
	pace      time.Duration
	dense     bool
	ticks     bool // the store keeps ticks
	shares    bool // the store grants shared locks
	mutant    string
	only      []string // kinds of faults besides kill and stop; if empty, all kinds
}

func main() {
	_ = mysql.SetLogger(&mysql.NopLogger{}) // these two libraries would log each broken connection
	redis.SetLogger(quiet{})
	if len(os.Args) == 3 && os.Args[1] == workerArgument {
		if err := runWorker(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "torture: worker:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(command())
}

// quiet is a logger that drops the messages of the Redis client.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func command() int {
	var o settings
	backends := flag.String("backend", "postgres", "the stores to test, separated by commas, or all")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of the plan")
	flag.DurationVar(&o.long, "for", time.Minute, "how long faults are caused")
	flag.DurationVar(&o.grace, "grace", 2*time.Minute, "how much longer the run may take if it has not yet made all required observations")
	flag.DurationVar(&o.ttl, "ttl", time.Second, "of the leases")
	flag.IntVar(&o.workers, "workers", 4, "processes")
	flag.DurationVar(&o.pace, "pace", 10*time.Millisecond, "mean delay between two rounds of a worker's loop")
	flag.BoolVar(&o.dense, "dense", false, "also use hundreds of names that are held for about a millisecond")
	only := flag.String("fault", "", "besides kill and stop, cause only these kinds of faults, separated by commas")
	together := flag.Int("together", 4, "how many stores to test at the same time")
	parent := flag.String("dir", "", "keep the histories in this folder")
	planOnly := flag.Bool("plan", false, "print the plan and do nothing")
	again := flag.String("check", "", "check the history in this folder and do nothing else")
	kills := flag.Bool("mutants", false, "run with defects that the checker must find, and do nothing else")
	mutant := flag.String("mutant", "", "with -mutants, only the defects whose name contains this text")
	markdown := flag.String("markdown", "", "write one page for each backend to this folder")
	flag.Parse()

	if *again != "" {
		ok, err := report(*again, *markdown)
		if err != nil {
			fmt.Fprintln(os.Stderr, "torture:", err)
		}
		return exit(ok && err == nil)
	}
	var chosen []store
	for _, name := range names(*backends) {
		s, err := findStore(name)
		if err != nil {
			fmt.Fprintf(os.Stderr, "torture: -backend %q: there are %s\n", name, strings.Join(names("all"), ", "))
			return 2
		}
		chosen = append(chosen, s)
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
		for _, kind := range o.only {
			if !slices.Contains(kinds, kind) {
				fmt.Fprintf(os.Stderr, "torture: -fault %q: there are %s\n", kind, strings.Join(kinds, ", "))
				return 2
			}
		}
	}
	if *planOnly {
		for _, s := range chosen {
			fmt.Printf("%s, seed %d\n", s.name, o.seed)
			newPlan(s.under(o.only), o, o.long+o.grace).print(os.Stdout)
		}
		return 0
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	if *kills {
		return exit(killMutants(ctx, o, *mutant, *together, *markdown))
	}
	good := true
	var mu sync.Mutex
	var group sync.WaitGroup
	turns := make(chan struct{}, *together)
	for _, s := range chosen {
		group.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			ok := one(ctx, s, o, *parent, *markdown, &mu)
			mu.Lock()
			good = good && ok
			mu.Unlock()
		})
	}
	group.Wait()
	return exit(good)
}

// one runs the torture on one store, and prints the result of the check.
func one(ctx context.Context, s store, o settings, parent, markdown string, mu *sync.Mutex) bool {
	folder, err := newFolder(parent, s.name)
	if err == nil {
		err = torture(ctx, s, o, folder)
	}
	mu.Lock()
	defer mu.Unlock()
	ok := false
	if err == nil {
		ok, err = report(folder, markdown)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "torture: %s: %v\n", s.name, err)
	}
	switch {
	case ok && err == nil && parent == "":
		_ = os.RemoveAll(folder)
	case !ok || err != nil:
		fmt.Printf("%s FAILED, seed %d; the history is in %s\nagain: %s\n", s.name, o.seed, folder, o.repeat(s.name))
	}
	return ok && err == nil
}

// report checks a history and prints the result.
func report(folder, markdown string) (bool, error) {
	r, err := history.Open(folder)
	if err != nil {
		return false, err
	}
	result := check.Check(r)
	fmt.Println(result)
	if markdown != "" {
		if err := os.WriteFile(markdown+"/"+result.Page(), []byte(result.Markdown()), 0o644); err != nil {
			return false, err
		}
	}
	return result.OK(), nil
}

func names(list string) (all []string) {
	if list != "all" {
		return strings.Split(list, ",")
	}
	for _, s := range stores {
		all = append(all, s.name)
	}
	return all
}

func exit(ok bool) int {
	if ok {
		return 0
	}
	return 1
}
