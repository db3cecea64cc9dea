package locktest

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// trial is one run of a case on a harness. Only the goroutine of the case may call its methods.
type trial struct {
	testCase
	ctx      context.Context // ends at the limit of the case
	harness  Harness
	patience time.Duration
	unique   string // part of every name, so that trials share no names

	mu       sync.Mutex
	cleanups []func()
	outcome  error
}

func newTrial(ctx context.Context, h Harness, c testCase, patience time.Duration) *trial {
	return &trial{testCase: c, ctx: ctx, harness: h, patience: patience, unique: driver.NewNonce().String()[:13]}
}

// play runs the case. fatalf and skipf end the goroutine of the case.
func (t *trial) play() {
	defer t.cleanUp()
	defer func() {
		if p := recover(); p != nil {
			t.conclude(&Failure{t.name, t.promise, "", fmt.Sprintf("panic: %v\n%s", p, debug.Stack())})
		}
	}()
	t.run(t)
}

func (t *trial) verdict() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.outcome
}

// conclude records the first outcome, and ignores later outcomes.
func (t *trial) conclude(outcome error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.outcome == nil {
		t.outcome = outcome
	}
}

// fatalf ends the case, because the promise is broken.
func (t *trial) fatalf(format string, args ...any) {
	t.conclude(&Failure{t.name, t.promise, source(), fmt.Sprintf(format, args...)})
	runtime.Goexit()
}

// skipf ends the case, because the promise cannot be checked.
func (t *trial) skipf(format string, args ...any) {
	t.conclude(&NotRun{t.name, t.promise, fmt.Sprintf(format, args...)})
	runtime.Goexit()
}

// source returns the line of the case's own function, even if a helper has failed.
func source() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	line := ""
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, "(*trial).play") {
			return line
		}
		line = fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		if !more {
			return line
		}
	}
}

func (t *trial) cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

func (t *trial) cleanUp() {
	t.mu.Lock()
	list := t.cleanups
	t.mu.Unlock()
	for _, f := range slices.Backward(list) {
		f()
	}
}

// open returns a new client, which is closed at the end of the case.
func (t *trial) open() driver.Backend {
	b, err := t.harness.Open(t.ctx)
	if err != nil {
		t.fatalf("open a client: %v", err)
	}
	if c, ok := t.harness.(Closer); ok {
		t.cleanup(func() { _ = c.Close(b) })
	}
	return b
}

// key returns a key that only this trial uses.
func (t *trial) key(name string) driver.Key {
	return driver.Key{Name: "locktest/" + t.name + "/" + t.unique + "/" + name}
}

// await waits for an event, and fails the case if the event does not happen in time.
func (t *trial) await(happened <-chan struct{}, what string) {
	timer := time.NewTimer(t.patience)
	defer timer.Stop()
	select {
	case <-happened:
	case <-timer.C:
		t.fatalf("%s: did not happen within %s", what, t.patience)
	case <-t.ctx.Done():
		t.fatalf("%s: %v", what, t.ctx.Err())
	}
}

// poll calls the function done repeatedly until it returns true. poll is for conditions without an event, such as the
// passing of time on a store's clock.
func (t *trial) poll(what string, done func() bool) {
	end := time.Now().Add(t.patience)
	for !done() {
		if time.Now().After(end) || t.ctx.Err() != nil {
			t.fatalf("%s: did not happen within %s", what, t.patience)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
