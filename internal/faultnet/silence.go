package faultnet

import (
	"context"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/faultproxy"
)

// Silence has the network fall silent after each step of a call in turn: the server has what was sent last, and nothing is heard any more.
// It fails unless the call ends with its ctx, give or take half a minute, each time, and has more than least steps. open makes a
// connection of its own for each; what it returns last is called in the end.
func Silence(t *testing.T, least int, open func() (*faultproxy.Proxy, func(context.Context) error, func())) {
	t.Helper()
	step := 0
	for silentAfter(t, step, open) {
		if step++; step == 100 {
			t.Fatal("the call has a hundred steps, or never succeeds")
		}
	}
	if step <= least {
		t.Fatalf("the call had %d steps: want a login, and what was asked", step)
	}
}

// silentAfter reports whether the call had so many steps.
func silentAfter(t *testing.T, step int, open func() (*faultproxy.Proxy, func(context.Context) error, func())) bool {
	t.Helper()
	proxy, call, end := open()
	defer end()
	proxy.CutAfter(step)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	select {
	case err := <-done:
		if proxy.IsCut() || ctx.Err() != nil /* of a slow machine */ {
			return true
		}
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(30 * time.Second):
		proxy.Close()
		t.Fatalf("step %d: it waits without a bound: %v", step, <-done)
	}
	return false
}
