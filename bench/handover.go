package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/bench/report"
)

// mostProcesses is over how many processes a crowd is spread.
const mostProcesses = 8

// crowd is so many who want one lock, in so many processes.
type crowd struct {
	lock       lock
	contenders int
	processes  int
	greedily   bool // measure, too, what happens if whoever has released stands in line again at once
}

// handOvers is the part of a store: each lock with few and with many contenders.
func (b *bench) handOvers(ctx context.Context, s store) ([]report.Row, error) {
	at, err := b.counted(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []crowd
	for _, contenders := range b.plan.contenders {
		for _, l := range s.locks {
			if l.alone || l.most > 0 && l.most < contenders || b.leavesOut(s, l) {
				continue
			}
			all = append(all, crowd{l, contenders, min(contenders, mostProcesses), true})
			if l.kind == report.Rowlock && contenders == 8 {
				all = append(all, crowd{l, contenders, 1, true})
			}
		}
	}
	rows, err := b.crowds(ctx, s, at, b.plan.handOver, all)
	return append(b.threeUpdates(ctx, s, at), rows...), err
}

// leavesOut is what a quick run does without: another driver or option for what is measured anyway.
func (b *bench) leavesOut(s store, l lock) bool {
	return b.plan.quick && l.kind == report.Rowlock && !slices.Contains(s.many, l.name)
}

// herds is a thousand waiters: ours, and the peers that let so many wait.
func (b *bench) herds(ctx context.Context, s store) ([]report.Row, error) {
	at, err := b.counted(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []crowd
	for _, l := range s.locks {
		if !l.alone && (l.most == 0 || l.most >= b.plan.herd) && !b.leavesOut(s, l) && !(b.plan.quick && l.kind != report.Rowlock) {
			all = append(all, crowd{l, b.plan.herd, mostProcesses, false})
		}
	}
	return b.crowds(ctx, s, at, b.plan.herds, all)
}

// threeUpdates shows how long three bare durable updates take, one after the other.
func (b *bench) threeUpdates(ctx context.Context, s store, at []string) (rows []report.Row) {
	for _, l := range s.locks {
		if !l.half {
			continue
		}
		row := report.Row{Lock: "three" + l.name[len("two"):], Kind: report.Floor}
		p, err := l.join(ctx, at, task{Name: "three", Members: 1})
		if err == nil {
			var took []time.Duration
			took, err = timed(ctx, func(ctx context.Context) error {
				h, err := p.members[0](ctx)
				return errors.Join(err, h.release(ctx), h.release(ctx))
			}, b.plan.handOver.round)
			p.close()
			row.Figures = map[string]float64{"p50_us": percentile(took, 50), "p99_us": percentile(took, 99)}
		}
		if err != nil {
			row.Figures, row.Error = nil, err.Error()
		}
		rows = append(rows, row)
	}
	return rows
}

// crowds measures all in turn, repeat by repeat, and returns the medians. One that fails is tried no more.
func (b *bench) crowds(ctx context.Context, s store, at []string, r runs, all []crowd) ([]report.Row, error) {
	count, leave, err := s.meter(ctx, at)
	if err != nil {
		return nil, err
	}
	defer leave()
	repeats, failed := make([][]map[string]float64, len(all)), make([]error, len(all))
	for repeat := range r.rounds {
		for turn := range all {
			i := (repeat + turn) % len(all)
			if failed[i] != nil {
				continue
			}
			got, err := b.handOver(ctx, s, at, r, all[i], count)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if failed[i] = err; err == nil {
				repeats[i] = append(repeats[i], got)
			}
			b.log("%s, %s, %d contenders: %.0f µs, %v", s.title, all[i].lock.name, all[i].contenders, got["p50_us"], err)
		}
	}
	var rows []report.Row
	for i, c := range all {
		row := report.Row{Lock: c.lock.name, Kind: c.lock.kind, Contenders: c.contenders, Processes: c.processes, Figures: medians(repeats[i])}
		if failed[i] != nil {
			row.Error = failed[i].Error()
		}
		rows = append(rows, row)
	}
	return rows, nil
}

var crowdsSoFar atomic.Int64

// handOver has a crowd pass the lock on. The name is another one each time: who was killed may have left something.
func (b *bench) handOver(ctx context.Context, s store, at []string, r runs, c crowd, count meter) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute+10*r.round)
	defer cancel()
	name := fmt.Sprintf("crowd %d %d", time.Now().Unix(), crowdsSoFar.Add(1))
	crew, err := hire(ctx, job{Store: s.id, Lock: c.lock.name, At: at, Role: relayRole, Task: task{Name: name, Members: c.contenders}}, c.processes)
	if err != nil {
		return nil, err
	}
	defer crew.dismiss()
	crew.tellAll("start")
	sleep(ctx, max(r.round/2, time.Duration(c.contenders)*time.Millisecond)) // all are in line

	before, err := count.read(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	sleep(ctx, r.round)
	for end := time.Now().Add(b.plan.patience); len(passes(crew.since(began, time.Now()))) == 0 && time.Now().Before(end) && ctx.Err() == nil; {
		sleep(ctx, 10*time.Millisecond) // who asks once a second takes longer than a short round
	}
	ended := time.Now()
	after, err := count.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := crew.failure(); err != nil {
		return nil, err
	}
	figures, err := relayFigures(crew.since(began, ended), ended.Sub(began))
	if err != nil {
		return nil, err
	}
	if count != nil {
		figures["counted"] = (after - before) / figures["n"]
	}
	if c.greedily {
		crew.tellAll("greedy")
		sleep(ctx, r.round/4)
		began := time.Now()
		sleep(ctx, r.round)
		ended := time.Now()
		greedFigures(figures, crew.since(began, ended), c.contenders, ended.Sub(began))
	}
	return figures, crew.failure()
}

// passes are the times from the call of each release to the return of the next acquire.
func passes(events []event) (took []time.Duration) {
	var released time.Time
	for _, e := range events {
		switch e.kind {
		case "released":
			released = e.at
		case "got":
			if !released.IsZero() {
				took = append(took, e.at.Sub(released))
			}
			released = time.Time{}
		}
	}
	return took
}

func relayFigures(events []event, d time.Duration) (map[string]float64, error) {
	took := passes(events)
	if len(took) == 0 {
		return nil, fmt.Errorf("nothing was handed over in %s", d.Round(time.Millisecond))
	}
	if two := holders(events); two > 0 {
		return nil, fmt.Errorf("%d times two held it at once", two)
	}
	slices.Sort(took)
	return map[string]float64{
		"n": float64(len(took)), "p50_us": percentile(took, 50), "p99_us": percentile(took, 99), "per_s": float64(len(took)) / d.Seconds(),
	}, nil
}

// holders counts how often somebody got the lock while another one had it.
func holders(events []event) (two int) {
	holding := -1
	for _, e := range events {
		switch e.kind {
		case "got":
			if holding >= 0 {
				two++
			}
			holding = e.member
		case "released":
			holding = -1
		}
	}
	return two
}

// greedFigures are who got how much when all take what they can. With few for each it would be chance.
func greedFigures(figures map[string]float64, events []event, members int, d time.Duration) {
	served, n := make([]int, members), 0
	for _, e := range events {
		if e.kind == "got" {
			served[e.member]++
			n++
		}
	}
	figures["greedy_per_s"] = float64(n) / d.Seconds()
	if n >= 10*members {
		figures["least"] = float64(slices.Min(served)) * float64(members) / float64(n)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
