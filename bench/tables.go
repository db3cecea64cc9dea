package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/bench/report"
)

// table describes one kind of measurement, which is made for several stores.
type table struct {
	name     string
	stores   []string // identifiers of the stores
	together bool     // all stores are measured at the same time, because most of the time is spent waiting
	how      func(plan) string
	measure  func(*bench, context.Context, store) ([]report.Row, error)
	columns  []report.Column
}

var (
	everywhere = []string{"postgres", "mysql", "mariadb", "sqlite", "redis", "redis-durable", "redlock", "etcd", "etcd3", "zookeeper", "zookeeper3"}
	contended  = without(everywhere, "redis-durable")
	oneServer  = without(contended, "etcd3", "zookeeper3")
	databases  = []string{"postgres", "mysql", "mariadb", "sqlite"}
)

func without(all []string, some ...string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

var (
	p50     = report.Of("p50", "p50_us", report.Micros)
	p99     = report.Of("p99", "p99_us", report.Micros)
	ofP50   = report.Of("ratio of the medians", "ratio_p50", report.Share)
	perS    = report.Of("per s", "per_s", report.Count)
	counted = report.Of("statements, requests or commits per hand-over", "counted", report.Tenths)
	many    = report.Column{Title: "contenders", Cell: func(r report.Row) string { return orDash(r.Contenders) }}
	inMany  = report.Column{Title: "processes", Cell: func(r report.Row) string { return orDash(r.Processes) }}
)

func orDash(n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprint(n)
}

func tables() []table {
	return []table{
		{"cycle", everywhere, false, func(p plan) string { return p.cycles.String() }, (*bench).cycles,
			[]report.Column{perS, report.Ratio("ratio to the floor (min–max)"), ofP50, p50, p99}},
		{"handover", contended, false, func(p plan) string { return "median of " + p.handOver.String() }, (*bench).handOvers,
			[]report.Column{many, inMany, p50, p99, perS, counted,
				report.Of("least served", "least", report.Share), report.Of("per s, greedily", "greedy_per_s", report.Count)}},
		{"several", []string{"postgres", "mysql", "sqlite", "redis"}, false,
			func(p plan) string { return fmt.Sprintf("%s; hand-overs: median of %s", p.cycles, p.herds) }, (*bench).several,
			[]report.Column{many, inMany, {Title: "times one cycle", Cell: timesOneCycle}, p50, p99, counted}},
		{"herd", contended, false, func(p plan) string { return "median of " + p.herds.String() }, (*bench).herds,
			[]report.Column{many, inMany, counted, p50, p99, perS}},
		{"death", oneServer, true, func(p plan) string { return fmt.Sprintf("median of %d, with a TTL of %s", p.deaths, p.ttl) }, (*bench).deaths,
			[]report.Column{
				report.Of("holder killed: the next process has the lock after", "killed_next_ms", millis),
				report.Of("holder cut off: the holder notices after", "cut_lost_ms", millis), report.Of("holder cut off: the next process has the lock after", "cut_next_ms", millis)}},
		{"held", oneServer, true, func(p plan) string { return fmt.Sprintf("%d leases in one process for %s", p.leases, p.hold) }, (*bench).held,
			[]report.Column{report.Of("leases", "leases", report.Count), report.Of("still held", "still", report.Count),
				report.Of("requests per s", "counted_per_s", report.Tenths), report.Of("goroutines", "goroutines", report.Count),
				report.Of("connections", "connections", report.Count), report.Of("memory for each", "each_bytes", report.Bytes)}},
		{"parked", []string{"postgres", "mysql", "mariadb", "redis", "redlock", "etcd", "zookeeper"}, false,
			func(p plan) string {
				return fmt.Sprintf("%d clients with a pool of %d each, in %d processes; requests of %s, then %d hand-overs", p.waiters, ownPool, mostProcesses, p.parks, handed)
			}, (*bench).parked,
			[]report.Column{report.Of("requests per s while all wait", "parked_per_s", report.Tenths),
				report.Of("of one waiter in 10 s", "parked_each", report.Tenths), p50, p99, counted}},
		{"start", []string{"sqlite", "postgres"}, false, func(p plan) string { return p.starts.String() }, (*bench).starts,
			[]report.Column{p50, p99, report.Ratio("ratio to flock (min–max)")}},
		{"fence", databases, false, func(p plan) string { return p.fences.String() }, (*bench).fences,
			[]report.Column{perS, report.Ratio("ratio (min–max)"), ofP50, p50, p99}},
		{"rows", databases, false, func(p plan) string { return p.sizes.String() }, (*bench).sizes,
			[]report.Column{perS, report.Ratio("ratio (min–max)"), ofP50, p50, p99}},
		{"clients", oneServer, false, func(p plan) string { return "median of " + p.many.String() }, (*bench).clients,
			[]report.Column{{Title: "clients", Cell: many.Cell}, perS, report.Ratio("ratio (min–max)"), ofP50, p50, p99}},
		{"nodes", []string{"redlock5"}, false, func(p plan) string { return "median of " + p.nodes.String() }, (*bench).nodes,
			[]report.Column{many, p50, p99, perS, counted, report.Of("least served", "least", report.Share)}},
		{"bloat", databases, false, func(plan) string { return fmt.Sprintf("%d names, %d clients", bloatNames, bloatClients) }, (*bench).bloats,
			[]report.Column{report.Of("table", "table_bytes", report.Bytes), report.Of("index", "index_bytes", report.Bytes),
				report.Of("updates within a page", "hot_share", report.Share)}},
	}
}

func millis(v float64) string { return report.Micros(v * 1000) }

func (r runs) String() string {
	return fmt.Sprintf("%d rounds of %s, in turn", r.rounds, r.round.Round(time.Millisecond))
}

func tableNames() (names []string) {
	for _, t := range tables() {
		names = append(names, t.name)
	}
	return names
}
