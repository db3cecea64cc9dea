// Command bench measures, in one process and in turn, locks beside what any lock in the same store must do,
// and beside other libraries: acquire and release of a free name, hand-over to one of those who wait, and
// transactions with a fence beside the same without. It prints Markdown tables.
//
// The servers are those that ROWLOCK_TEST_POSTGRES, ROWLOCK_TEST_MYSQL, ROWLOCK_TEST_MARIADB,
// ROWLOCK_TEST_REDIS, ROWLOCK_TEST_ETCD and ROWLOCK_TEST_ZOOKEEPER name; SQLite is always measured. `make bench` at
// the top of the repository provides them. A Redis that keeps everything in memory, and three nodes of etcd
// and of ZooKeeper, it starts itself.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	only := flag.String("only", "", "of "+strings.Join(tableNames(), ", ")+": that table alone")
	quick := flag.Bool("quick", false, "a short run that shows that it works, with figures of little worth")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *quick, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// plan is how long to measure what.
type plan struct {
	locks    runs
	short    runs // of tables with many rows
	handOver runs
	waiters  []int
}

var (
	long  = plan{runs{15, time.Second}, runs{9, 400 * time.Millisecond}, runs{5, time.Second}, []int{1, 8, 100, 1000}}
	brief = plan{runs{3, 100 * time.Millisecond}, runs{3, 50 * time.Millisecond}, runs{1, 200 * time.Millisecond}, []int{8, 100}}
)

var tables = []struct {
	name  string
	print func(context.Context, plan, []database) error
}{
	{"locks", func(ctx context.Context, p plan, all []database) error {
		rows, err := locks(ctx, all)
		return p.locks.table(ctx, "| store, one connection | two bare updates, per s | acquire + release, per s |", rows, err)
	}},
	{"sessions", func(ctx context.Context, p plan, all []database) error {
		rows, err := sessions(ctx, all)
		return p.short.table(ctx, "| lock of a session | lock and unlock statement, per s | acquire + release, per s |", rows, err)
	}},
	{"redis", func(ctx context.Context, p plan, _ []database) error { return redisTables(ctx, p) }},
	{"etcd", func(ctx context.Context, p plan, _ []database) error { return etcdTables(ctx, p) }},
	{"zookeeper", func(ctx context.Context, p plan, _ []database) error { return zooKeeperTables(ctx, p) }},
	{"fence", func(ctx context.Context, p plan, all []database) error {
		rows, err := fences(ctx, all)
		return p.short.table(ctx, "| a transaction of one update, and | without a fence, per s | with it, per s |", rows, err)
	}},
}

func tableNames() []string {
	var names []string
	for _, t := range tables {
		names = append(names, t.name)
	}
	return names
}

func run(ctx context.Context, quick bool, only string) error {
	if only != "" && !slices.Contains(tableNames(), only) {
		return fmt.Errorf("-only=%s: there are %s", only, strings.Join(tableNames(), ", "))
	}
	p := long
	if quick {
		p = brief
	}
	fmt.Printf("Rounds in turn; %d cores, %s, %s/%s.\n\n", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	dir, err := os.MkdirTemp("", "rowlock-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	all := databases(dir)
	for _, t := range tables {
		if only != "" && only != t.name {
			continue
		}
		if err := t.print(ctx, p, all); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// table measures and prints one row after the other, unless there is an error already.
func (p runs) table(ctx context.Context, columns string, rows []comparison, err error) error {
	if err != nil {
		return err
	}
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
