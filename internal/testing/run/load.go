package main

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// keepBusy runs n busy loops, each on a thread of its own with the priority of the tests, until stop is called.
func keepBusy(n int) (stop func()) {
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(before + n) // so that the loops do not keep this process from starting tests
	var ended atomic.Bool
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			for !ended.Load() {
			}
		})
	}
	return func() {
		ended.Store(true)
		group.Wait()
		runtime.GOMAXPROCS(before)
	}
}
