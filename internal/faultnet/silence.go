package faultnet

import (
	"context"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/faultproxy"
)

const (
	callLimit   = 200 * time.Millisecond // the time limit of the first trial; a trial in which the network is cut lasts as long as its limit
	longestCall = 30 * time.Second       // the time limit is doubled up to this value
	mostSteps   = 300
	grace       = 30 * time.Second // a call that still runs this long after its ctx has ended is considered unlimited
)

// Silence checks that a call ends with its context, no matter when the server stops answering. A step of a call is one
// message to the server. Silence makes many trials, and cuts the network one step later in each trial. The server gets
// the message of that step, but its reply is lost. The test fails if a call returns later than 30 seconds after its
// context has ended. The parameter least is the number of steps that a login has. The test also fails if the call has
// no more steps than that, because it then cannot have sent a statement. For each trial, the function open makes a new
// connection. It returns the proxy, the call, and a function that closes the connection.
//
// If the context of a call ends before the network is cut, the machine was too busy, and the trial proves nothing.
// Silence then retries the step with twice the time.
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
				t.Fatalf("the call had only %d steps: it must have those of a login and of the statement", step)
			}
			return
		}
	}
	t.Fatalf("the call did not succeed within %d steps", mostSteps)
}

// trial is the result of one trial of Silence.
type trial int

const (
	cutShort trial = iota // the network was cut during the call
	late                  // ctx ended before the network was cut
	complete              // the call succeeded before the cut, so the call has no further steps to test
)

// silentAfter makes the call, and cuts the network when the client has sent as many messages as the parameter step
// says.
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
		case !time.Now().Before(deadline): // the context of a statement may end slightly before ctx
			return late
		}
		t.Fatalf("step %d: %v", step, err)
	case <-time.After(limit + grace):
		proxy.Close()
		t.Fatalf("step %d: the call does not end when its context ends: %v", step, <-done)
	}
	return complete
}
