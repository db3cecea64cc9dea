package faultnet

import (
	"context"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/faultproxy"
)

const (
	callLimit   = 200 * time.Millisecond // how long a call may take at first; each silent step costs as much
	longestCall = 30 * time.Second       // on any machine
	mostSteps   = 300
	grace       = 30 * time.Second // after which a call whose ctx has ended is taken to wait without a bound
)

// Silence lets the network fall silent after each step of a call in turn: the server has received what was sent last, and nothing arrives
// any more. It fails unless the call ends with its ctx, give or take half a minute, each time, and has more than least steps. open makes a
// connection of its own for each trial; the function that it returns last is called in the end.
//
// A call that runs out of time before the network is cut proves nothing: the machine is busy. The same step is tried again with twice the time.
func Silence(t *testing.T, least int, open func() (*faultproxy.Proxy, func(context.Context) error, func())) {
	t.Helper()
	limit := callLimit
	for step := 0; step < mostSteps; {
		switch silentAfter(t, step, limit, open) {
		case cutShort:
			step++
		case late:
			if limit *= 2; limit > longestCall {
				t.Fatalf("step %d: the call takes more than %s on a network that is not cut", step, limit/2)
			}
		case complete:
			if step <= least {
				t.Fatalf("the call had %d steps: want a login, and what was asked", step)
			}
			return
		}
	}
	t.Fatalf("the call has %d steps, or never succeeds", mostSteps)
}

// trial is how a call ended.
type trial int

const (
	cutShort trial = iota // the network was cut in it
	late                  // its time was over before the network was cut
	complete              // it succeeded, and has no more steps
)

// silentAfter makes the call, and cuts the network after so many steps of it.
func silentAfter(t *testing.T, step int, limit time.Duration, open func() (*faultproxy.Proxy, func(context.Context) error, func())) trial {
	t.Helper()
	proxy, call, end := open()
	defer end()
	proxy.CutAfter(step)
	deadline := time.Now().Add(limit)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	select {
	case err := <-done:
		switch {
		case proxy.IsCut():
			return cutShort
		case err == nil:
			return complete
		case !time.Now().Before(deadline): // a context made of ctx may end just before ctx does
			return late
		}
		t.Fatalf("step %d: %v", step, err)
	case <-time.After(limit + grace):
		proxy.Close()
		t.Fatalf("step %d: it waits without a bound: %v", step, <-done)
	}
	return complete
}
