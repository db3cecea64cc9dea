package crew

import (
	"runtime"
	"sync"
)

// Together calls f for each number below n, all calls at the same time, and returns when all calls have ended.
// If a call panics, Together calls the function ended, waits for the other calls, and panics with the same value. If a
// call ends its goroutine (runtime.Goexit), Together also calls ended and waits. It then ends the goroutine of its
// caller.
func Together(n int, f func(i int), ended func()) {
	var group sync.WaitGroup
	var mu sync.Mutex
	var panicked any
	gone := false
	one := func(i int) {
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
	}
	if n == 1 {
		one(0) // needs no goroutine
	} else {
		for i := range n {
			group.Go(func() { one(i) })
		}
	}
	group.Wait()
	switch {
	case panicked != nil:
		panic(panicked)
	case gone:
		runtime.Goexit()
	}
}

// InTurn calls f for each number below n, one call after the other, in the goroutine of its caller. If a call panics or
// ends its goroutine, InTurn still makes the other calls.
func InTurn(n int, f func(i int)) {
	for i := range n {
		defer f(n - 1 - i) // the last deferred call runs first
	}
}
