// Command bench measures, in one process and in turn, acquire and release beside what any lock in a
// database must run, two bare updates of one row on the same connection, and transactions with a fence
// beside the same without. It prints Markdown tables.
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
	only := flag.String("only", "", "locks, sessions or fence: that table alone")
	quick := flag.Bool("quick", false, "a short run that shows that it works, with figures of little worth")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *quick, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, quick bool, only string) error {
	plan := runs{rounds: 15, round: time.Second}
	if quick {
		plan.rounds, plan.round = 3, 200*time.Millisecond
	}
	fmt.Printf("One client, rounds in turn; %d cores, %s, %s/%s.\n\n", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	dir, err := os.MkdirTemp("", "rowlock-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	all := databases(dir)
	short := plan // of tables with many rows
	short.rounds, short.round = min(plan.rounds, 9), min(plan.round, 400*time.Millisecond)
	for _, t := range []struct {
		name, columns string
		plan          runs
		rows          func(context.Context, []database) ([]comparison, error)
	}{
		{"locks", "| store, one connection | two bare updates, per s | acquire + release, per s |", plan, locks},
		{"sessions", "| lock of a session | lock and unlock statement, per s | acquire + release, per s |", short, sessions},
		{"fence", "| a transaction of one update, and | without a fence, per s | with it, per s |", short, fences},
	} {
		if only != "" && only != t.name {
			continue
		}
		rows, err := t.rows(ctx, all)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if err := t.plan.table(ctx, t.columns, rows); err != nil {
			return err
		}
	}
	return nil
}

// table measures and prints one row after the other.
func (p runs) table(ctx context.Context, columns string, rows []comparison) error {
	fmt.Printf("%d rounds of %s each:\n\n", p.rounds, p.round)
	fmt.Println(columns + " ratio (min–max of the rounds) | p50 | p99 |")
	fmt.Println("| --- | ---: | ---: | ---: | ---: | ---: |")
	for _, c := range rows {
		row, err := p.measure(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Println(row)
	}
	fmt.Println()
	return nil
}
