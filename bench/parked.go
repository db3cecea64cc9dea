package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/internal/testserver"
)

// ownPool is the largest number of connections of each client in the measurement of waiters with small pools.
const ownPool = 2

// handed is the number of hand-overs that parked measures after the wait.
const handed = 20

// poolLimit is the largest number of connections of each pool that this process opens. 0 means the default of the
// library.
var poolLimit int

// parked measures many clients that wait for one name, each with a small pool of its own, as many processes have. It
// counts the requests of these clients while the name stays held, and then measures a few hand-overs.
func (b *bench) parked(ctx context.Context, s store) ([]report.Row, error) {
	if s.id == "postgres" {
		s.serve = crowdedPostgres
	}
	at, err := b.world.ready(ctx, s)
	if err != nil {
		return nil, err
	}
	var rows []report.Row
	for _, l := range s.locks {
		if l.alone || l.most > 0 && l.most < b.plan.waiters || b.leavesOut(s, l) || b.plan.quick && l.kind != report.Rowlock {
			continue
		}
		figures, err := b.parkedOn(ctx, s, at, l)
		row := report.Row{Lock: l.name, Kind: l.kind, Contenders: b.plan.waiters, Processes: mostProcesses, Figures: figures}
		if err != nil {
			row.Error = err.Error()
		}
		rows = append(rows, row)
		b.log("%s, %s: %v %v", s.title, l.name, figures, err)
	}
	return rows, ctx.Err()
}

// crowdedPostgres returns the address of a server that counts statements and accepts the connections of many clients.
func crowdedPostgres(ctx context.Context, w *world) ([]string, error) {
	return w.started(ctx, "crowded postgres", testserver.Postgres, 1, testserver.Options{
		Durable: true, Args: []string{"-c", "shared_preload_libraries=pg_stat_statements", "-c", "max_connections=1000"},
	})
}

func (b *bench) parkedOn(ctx context.Context, s store, at []string, l lock) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute+3*b.plan.parks)
	defer cancel()
	count, leave, err := s.meter(ctx, at, l)
	if err != nil {
		return nil, err
	}
	defer leave()
	t := task{Name: fmt.Sprintf("parked %d %d", time.Now().Unix(), crowdsSoFar.Add(1)), Members: b.plan.waiters, Pool: ownPool}
	crew, err := hire(ctx, job{Store: s.id, Lock: l.name, At: at, Apart: s.apart, Role: parkRole, Task: t}, mostProcesses)
	if err != nil {
		return nil, err
	}
	defer crew.dismiss()
	crew.tellAll("start")
	if _, err := b.first(ctx, crew, "got"); err != nil {
		return nil, err
	}
	sleep(ctx, b.plan.parks/2) // until then all waiters have subscribed, and their polls have become slow
	figures := map[string]float64{}
	took, requests, err := count.during(ctx, func() { sleep(ctx, b.plan.parks) })
	if err != nil {
		return nil, err
	}
	if count != nil {
		figures["parked_per_s"] = requests / took.Seconds()
		figures["parked_each"] = requests / took.Seconds() * 10 / float64(b.plan.waiters)
	}
	began := time.Now()
	var late error
	took, requests, err = count.during(ctx, func() {
		crew.tellAll("free")
		late = crew.await(ctx, func() bool { return crew.count("got") > handed })
	})
	if err = errors.Join(err, late); err != nil {
		return figures, fmt.Errorf("fewer than %d hand-overs: %w", handed, err)
	}
	crew.dismiss() // dismiss returns after every report has arrived
	passed, err := relayFigures(crew.since(began, began.Add(took)), took)
	if err != nil {
		return figures, err
	}
	figures["p50_us"], figures["p99_us"] = passed["p50_us"], passed["p99_us"]
	if count != nil {
		figures["counted"] = requests / passed["n"]
	}
	return figures, nil
}

// during calls f, and returns how long it took and how many requests were counted meanwhile.
func (m meter) during(ctx context.Context, f func()) (took time.Duration, requests float64, err error) {
	before, err := m.read(ctx)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	f()
	took = time.Since(began)
	after, err := m.read(ctx)
	return took, after - before, err
}

// apart returns a party whose members have a client each.
func (l lock) apart(ctx context.Context, at []string, t task) (*party, error) {
	poolLimit = t.Pool
	all, members := &party{}, t.Members
	var leave []func()
	all.close = func() {
		for _, f := range leave {
			f()
		}
	}
	t.Members, t.Pool = 1, 0
	for range members {
		p, err := l.join(ctx, at, t)
		if err != nil {
			all.close()
			return nil, err
		}
		all.members, leave = append(all.members, p.members...), append(leave, p.close)
	}
	return all, nil
}

// wait holds the first lease of the crowd until the command free, and each later lease for a moment.
func (w *worker) wait(ctx context.Context, i int, h held) error {
	select {
	case <-w.free:
	case <-ctx.Done():
	}
	sleep(ctx, hold)
	before := time.Now()
	err := h.release(context.WithoutCancel(ctx))
	w.say("released", i, h.slot, before)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
