package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/bench/report"
)

// held measures what many leases cost the process that holds them. It runs one measurement for each lock that s.many
// names. The plan says how many leases the process holds, and for how long.
func (b *bench) held(ctx context.Context, s store) ([]report.Row, error) {
	at, err := b.counted(ctx, s)
	if err != nil {
		return nil, err
	}
	var rows []report.Row
	for _, name := range s.many {
		figures, err := b.heldBy(ctx, s, at, name)
		row := report.Row{Lock: name, Kind: report.Rowlock, Figures: figures}
		if err != nil {
			row.Error = err.Error()
		}
		rows = append(rows, row)
		b.log("%s, %s: %v %v", s.title, name, figures, err)
	}
	return rows, nil
}

func (b *bench) heldBy(ctx context.Context, s store, at []string, name string) (map[string]float64, error) {
	l, _ := s.lock(name)
	count, leave, err := s.meter(ctx, at, l)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute+b.plan.hold)
	defer cancel()
	crew := &crew{news: make(chan struct{}, 1)}
	defer crew.dismiss()
	t := task{Name: fmt.Sprintf("held %d ", time.Now().UnixNano()), Members: b.plan.leases}
	if err := crew.start(ctx, job{Store: s.id, Lock: name, At: at, Role: manyRole, Task: t}); err != nil {
		return nil, err
	}
	if err := crew.await(ctx, func() bool { return crew.count("held") == 1 }); err != nil {
		return nil, err
	}
	before, err := count.read(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	sleep(ctx, b.plan.hold)
	after, err := count.read(ctx)
	if err != nil {
		return nil, err
	}
	span := time.Since(began)
	crew.tellAll("stop")
	if err := crew.await(ctx, func() bool { return crew.count("still") == 1 }); err != nil {
		return nil, err
	}
	var held burden
	if e, ok := crew.find("still"); ok {
		err = json.Unmarshal([]byte(e.text), &held)
	}
	figures := map[string]float64{
		"leases": float64(b.plan.leases), "still": float64(held.Held), "goroutines": float64(held.Goroutines),
		"connections": float64(held.Connections), "each_bytes": float64(held.Heap) / float64(b.plan.leases),
	}
	if count != nil {
		figures["counted_per_s"] = (after - before) / span.Seconds()
	}
	return figures, err
}
