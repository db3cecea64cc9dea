package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/bench/report"
)

// burden is what leases cost the process that holds them.
type burden struct {
	Held        int
	Goroutines  int
	Connections int
	Heap        uint64
}

// held is many leases, held by one process for as long as the plan says, on each of a store's kinds of lock.
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
	count, leave, err := s.meter(ctx, at)
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
	for _, e := range crew.events {
		if e.kind == "still" {
			err = json.Unmarshal([]byte(e.text), &held)
		}
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

// many is the worker's side.
func (w *worker) many(ctx context.Context, l lock) error {
	empty := measureBurden()
	locker, leave, err := l.locker(ctx, w.job.At)
	if err != nil {
		return err
	}
	defer leave()
	leases := make([]*rowlock.Lease, w.job.Task.Members)
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make(chan error, 4)
	for range cap(errs) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(leases)); i = next.Add(1) - 1 {
				lease, err := locker.Acquire(ctx, w.job.Task.Name+fmt.Sprint(i))
				if err != nil {
					errs <- err
					return
				}
				leases[i] = lease
			}
		})
	}
	group.Wait()
	select {
	case err := <-errs:
		return err
	default:
	}
	w.tell("held", burden{})
	<-ctx.Done()
	full := measureBurden()
	full.Goroutines -= empty.Goroutines
	full.Connections -= empty.Connections
	full.Heap -= min(empty.Heap, full.Heap)
	for _, lease := range leases {
		if lease.Err() == nil {
			full.Held++
		}
	}
	w.tell("still", full)
	os.Exit(0) // ten thousand releases are not what is measured
	return nil
}

func (w *worker) tell(kind string, b burden) {
	text, _ := json.Marshal(b)
	fmt.Fprintf(w.out, "%s %s\n", kind, text)
}

func measureBurden() burden {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return burden{Goroutines: runtime.NumGoroutine(), Connections: sockets(), Heap: m.HeapAlloc}
}

// sockets counts those of this process, where /proc tells.
func sockets() (n int) {
	files, _ := filepath.Glob("/proc/self/fd/*")
	for _, f := range files {
		if target, err := os.Readlink(f); err == nil && strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}
