package crew

import (
	"runtime"
	"sync"
)

// Together calls f for each number below n, each call in a goroutine of its own, and returns when all calls have ended.
// If a call panics, Together calls the function ended, waits for the other calls, and panics with the same value. If a
// call ends its goroutine (runtime.Goexit), Together also calls ended and waits. It then ends the goroutine of its
// caller.
func Together(n int, f func(i int), ended func()) {
	var group sync.WaitGroup
	var mu sync.Mutex
	var panicked any
	gone := false
	for i := range n {
		group.Go(func() {
			returned := false
			defer func() {
				if returned {
					return
				}
				value := recover()
				mu.Lock()
				gone = true
				if panicked == nil {
					panicked = value
				}
				mu.Unlock()
				ended()
			}()
			f(i)
			returned = true
		})
	}
	group.Wait()
	switch {
	case panicked != nil:
		panic(panicked)
	case gone:
		runtime.Goexit()
	}
}
