// Command bench measures acquire and release beside what any lock in a database must run: two bare
// updates of one row, on the same connection, in turn in one process. It prints a Markdown table.
//
// The servers are those that ROWLOCK_TEST_POSTGRES, ROWLOCK_TEST_MYSQL and ROWLOCK_TEST_MARIADB
// name; SQLite is always measured. `make bench` at the top of the repository provides them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"time"
)

func main() {
	quick := flag.Bool("quick", false, "a short run that shows that it works, with figures of little worth")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, quick bool) error {
	plan := plan{rounds: 15, round: time.Second}
	if quick {
		plan.rounds, plan.round = 3, 200*time.Millisecond
	}
	fmt.Printf("One client, one connection, %d rounds of %s each, in turn; %d cores, %s, %s/%s.\n\n",
		plan.rounds, plan.round, runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	fmt.Println("| store | two bare updates, per s | acquire + release, per s | ratio (min–max of the rounds) | cycle p50 | p99 |")
	fmt.Println("| --- | ---: | ---: | ---: | ---: | ---: |")
	stores, err := stores(ctx)
	if err != nil {
		return err
	}
	for _, s := range stores {
		row, err := plan.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Println(row)
	}
	return nil
}
