// Command bench compares the locks of rowlock with the locks of other libraries. It also measures the floor: the minimum work of
// any lock in the same store. It writes each table as JSON into docs/benchmarks, and creates Markdown and charts from these
// tables.
//
// The benchmark uses the servers that ROWLOCK_TEST_POSTGRES, ROWLOCK_TEST_MYSQL, ROWLOCK_TEST_MARIADB,
// ROWLOCK_TEST_REDIS, ROWLOCK_TEST_ETCD and ROWLOCK_TEST_ZOOKEEPER name. `make bench` at the top of the repository
// provides these servers. For SQLite, the store is a file. The command itself starts Redis in memory,
// Redlock's three servers, three nodes of etcd and of ZooKeeper, and a Postgres that counts statements.
// If a measurement needs several processes, each process runs this program again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/bench/report"
)

func main() {
	redis.SetLogger(silentRedis{}) // without this, the client would log each connection that ends while it is in use
	if os.Getenv(workerVariable) != "" {
		if err := work(os.Stdin, os.Stdout); err != nil {
			fmt.Println("failed", strings.ReplaceAll(err.Error(), "\n", " "))
			os.Exit(1)
		}
		return
	}
	only := flag.String("only", "", "measure only these tables, separated by commas; cycle/redis measures the table cycle for the store redis only; the tables are "+strings.Join(tableNames(), ", "))
	quick := flag.Bool("quick", false, "a short run to check that the benchmark works; its figures mean little and are written only if -out is set")
	scale := flag.Float64("scale", 1, "multiply the length of all measurements by this factor")
	missing := flag.Bool("missing", false, "measure only what has no results yet, for example after an interruption")
	render := flag.Bool("render", false, "measure nothing, but write the README and the charts from existing results")
	out := flag.String("out", "", "the folder to write to (default ../docs/benchmarks)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *missing, *quick, *scale, *render, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, missing, quick bool, scale float64, render bool, out string) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	w, err := newWorld()
	if err != nil {
		return err
	}
	defer w.close()
	p := long
	if quick {
		p = brief
		chosen = slices.DeleteFunc(chosen, func(c choice) bool { return c.store.nodes > 1 && c.table.name != "cycle" })
	}
	if out == "" {
		out = "../docs/benchmarks"
		if quick {
			out = w.folder
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if missing {
		if chosen, err = unmeasured(chosen, out); err != nil {
			return err
		}
	}
	b := &bench{plan: p.scaled(scale), world: w, began: time.Now(), few: make(chan struct{}, 12)}
	var failures []error
	if !render {
		failures = b.measure(ctx, chosen, out)
	}
	if err := publish(out); err != nil {
		return err
	}
	return errors.Join(failures...)
}

// measure runs the chosen measurements. After each measurement it writes the table. So the results remain even if a
// later measurement fails.
func (b *bench) measure(ctx context.Context, chosen []choice, out string) (failures []error) {
	var mu sync.Mutex
	one := func(c choice) {
		section, err := b.section(ctx, c.table, c.store)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			err = save(out, c.table, section)
		}
		if err == nil {
			err = failed(c.table, section)
		}
		if err != nil {
			b.log("%v", err)
		}
		if err != nil && (!errors.Is(err, errMissing) || os.Getenv("ROWLOCK_REQUIRE") == "all") {
			failures = append(failures, err)
		}
	}
	var group sync.WaitGroup
	for _, c := range chosen { // done first, because some servers are slow for a while after their start
		group.Go(func() { _, _ = b.world.ready(ctx, c.store) }) // ignores the error, because measuring the store returns it again
	}
	group.Wait()
	for i, c := range chosen {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() { one(c) })
		last := i+1 == len(chosen)
		if !c.table.together || last || !chosen[i+1].table.together || !b.plan.quick && chosen[i+1].table.name != c.table.name {
			group.Wait()
		}
	}
	return append(failures, ctx.Err())
}

// failed returns an error if a row of rowlock or of the floor has no figures. Rows of other libraries may fail.
func failed(t table, s report.Section) error {
	var errs []error
	for _, r := range s.Rows {
		if r.Error != "" && r.Kind != report.Peer {
			errs = append(errs, fmt.Errorf("%s of %s: %s: %s", t.name, s.Title, r.Lock, r.Error))
		}
	}
	return errors.Join(errs...)
}

func save(out string, t table, s report.Section) error {
	kept, err := report.Load(out, t.name)
	if err != nil {
		return err
	}
	kept.Put(s)
	return kept.Save(out)
}
