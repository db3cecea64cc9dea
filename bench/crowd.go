package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/bench/report"
)

// mostProcesses is the largest number of processes in a crowd.
const mostProcesses = 8

// warmUp is the number of rounds that a crowd runs before it is measured. After these rounds,
// all members wait in the queue. Each of eight members has then held the lock often enough that one-time work
// on its connection is done. For example, Postgres makes a new plan for each of the first five executions
// of a prepared statement.
const warmUp = 2

// crowd describes a group of clients in several processes that all want the same lock. A client is called a member or a
// contender.
type crowd struct {
	lock       lock
	contenders int
	processes  int
	greedily   bool // also measure with members that request the lock again immediately after their release
	slots      int  // if not 0, each member wants any of this number of slots
}

// crowds measures each crowd once per round, and returns the medians of the rounds. After a crowd has failed, it is not
// measured again. The parameter before is a function that measures a baseline for a crowd, for the length of a round.
// If before is not nil, crowds calls this function before each measurement of a crowd.
func (b *bench) crowds(ctx context.Context, s store, at []string, r runs, all []crowd, before func(context.Context, crowd, time.Duration)) ([]report.Row, error) {
	repeats, failed := make([][]map[string]float64, len(all)), make([]error, len(all))
	for repeat := range r.rounds {
		for turn := range all {
			i := (repeat + turn) % len(all)
			if failed[i] != nil {
				continue
			}
			if before != nil {
				before(ctx, all[i], r.round)
			}
			got, err := b.handOver(ctx, s, at, r, all[i])
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

// handOver measures how a crowd hands the lock over. Each call uses a new name, because a killed process may have left the old
// name locked.
func (b *bench) handOver(ctx context.Context, s store, at []string, r runs, c crowd) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute+10*r.round)
	defer cancel()
	count, leave, err := s.meter(ctx, at, c.lock)
	if err != nil {
		return nil, err
	}
	defer leave()
	name := fmt.Sprintf("crowd %d %d", time.Now().Unix(), crowdsSoFar.Add(1))
	crew, err := hire(ctx, job{Store: s.id, Lock: c.lock.name, At: at, Apart: s.apart, Role: relayRole, Task: task{Name: name, Members: c.contenders, Slots: c.slots}}, c.processes)
	if err != nil {
		return nil, err
	}
	defer crew.dismiss()
	crew.tellAll("start")
	// A crowd with slots needs longer, because each member first tries every slot.
	sleep(ctx, max(warmUp*r.round, time.Duration(c.contenders*(1+5*c.slots))*time.Millisecond))

	before, err := count.read(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	sleep(ctx, r.round)
	for end := time.Now().Add(b.plan.patience); len(passes(crew.since(began, time.Now()))) == 0 && time.Now().Before(end) && ctx.Err() == nil; {
		// After a short round, waits for the first hand-over, because a member may poll only once a second.
		sleep(ctx, 10*time.Millisecond)
	}
	ended := time.Now()
	after, err := count.read(ctx)
	if err != nil {
		return nil, err
	}
	var greedy, stopped time.Time
	if c.greedily {
		crew.tellAll("greedy")
		sleep(ctx, r.round/4)
		greedy = time.Now()
		sleep(ctx, 2*r.round)
		stopped = time.Now()
	}
	if err := crew.failure(); err != nil {
		return nil, err
	}
	crew.dismiss() // dismiss returns after every report has arrived
	figures, err := relayFigures(crew.since(began, ended), ended.Sub(began))
	if err != nil {
		return nil, err
	}
	if count != nil {
		figures["counted"] = (after - before) / figures["n"]
	}
	if c.greedily {
		greedFigures(figures, crew.since(greedy, stopped), c.contenders, stopped.Sub(greedy))
	}
	return figures, nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
