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

	"github.com/rowlock/rowlock"
)

// burden describes the cost of leases for the process that holds them.
type burden struct {
	Held        int
	Goroutines  int
	Connections int
	Heap        uint64
}

// many is a task of a worker process: it acquires leases, holds them for a while, and reports their cost.
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
	os.Exit(0) // Exits without releasing the leases, because this measurement does not include releases.
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

// sockets returns the number of sockets of this process, if /proc reports them.
func sockets() (n int) {
	files, _ := filepath.Glob("/proc/self/fd/*")
	for _, f := range files {
		if target, err := os.Readlink(f); err == nil && strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}
