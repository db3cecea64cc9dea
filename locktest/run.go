package locktest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/oneline"
)

// settings are the limits of a run.
type settings struct {
	limit    time.Duration // time limit of one case
	grace    time.Duration // additional time in which a case must end after its limit
	patience time.Duration // time limit for one event that must happen
}

// usual has the limits of Run. Its patience is three times the longest time between two polls of a waiter, because
// a waiter whose notification was lost acquires the name with its next poll.
var usual = settings{limit: 2 * time.Minute, grace: 10 * time.Second, patience: time.Minute}

// Run checks every promise against one harness, each in its own subtest. Most subtests run in parallel unless the
// harness is [Solitary]. Run calls newHarness once. The harness calls tb.Cleanup to close what it has opened.
func Run(t *testing.T, newHarness func(tb testing.TB) Harness) {
	t.Helper()
	h := newHarness(t)
	if err := checkExemptions(h); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			if !c.alone && !solitary.has(h) {
				t.Parallel()
			}
			err := usual.try(context.Background(), h, c)
			var not *NotRun
			switch {
			case errors.As(err, &not):
				t.Skip(not.Reason)
			case err != nil:
				t.Error(err)
			}
		})
	}
}

// Check runs the cases of [Run] without go test, and joins their errors. There is a [*Failure] for each
// broken promise, and a [*NotRun] for each promise that could not be checked. If the error is nil, the store
// keeps every promise of the suite. If errors.As finds no *Failure in it, the store keeps every promise that
// could be checked. ctx limits the whole run.
func Check(ctx context.Context, h Harness) error {
	return CheckEach(ctx, h, func(Result) {})
}

// Result is the outcome of one case.
type Result struct {
	Case    string
	Promise string
	Err     error // nil, a [*Failure] or a [*NotRun]
	Took    time.Duration
}

// CheckEach does the same as [Check]. It also calls report after each case, from one goroutine at a time. If names are
// given, only the cases with these names run.
func CheckEach(ctx context.Context, h Harness, report func(Result), names ...string) error {
	if err := checkExemptions(h); err != nil {
		return err
	}
	list := cases()
	if len(names) > 0 {
		list = slices.DeleteFunc(list, func(c testCase) bool { return !slices.Contains(names, c.name) })
	}
	var one sync.Mutex
	return usual.check(ctx, h, list, func(r Result) {
		one.Lock()
		defer one.Unlock()
		report(r)
	})
}

// Some cases must be alone, and check runs these cases one after the other. It runs up to four of the other cases at
// the same time, because these cases mostly wait.
func (s settings) check(ctx context.Context, h Harness, list []testCase, report func(Result)) error {
	errs := make([]error, len(list))
	var together sync.WaitGroup
	places := make(chan struct{}, 4)
	run := func(i int, c testCase) {
		start := time.Now()
		errs[i] = s.try(ctx, h, c)
		report(Result{c.name, c.promise, errs[i], time.Since(start)})
	}
	for i, c := range list {
		if c.alone || solitary.has(h) {
			run(i, c)
		}
	}
	for i, c := range list {
		if c.alone || solitary.has(h) {
			continue
		}
		places <- struct{}{}
		together.Go(func() {
			run(i, c)
			<-places
		})
	}
	together.Wait()
	return oneline.Join(errs...)
}

// try runs one case under a watchdog. The error is nil, a [*Failure] or a [*NotRun].
func (s settings) try(ctx context.Context, h Harness, c testCase) error {
	if why := c.unable(h); why != "" {
		return &NotRun{c.name, c.promise, why}
	}
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	t := newTrial(ctx, h, c, s.patience)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.play()
	}()
	select {
	case <-done:
		return t.verdict()
	case <-ctx.Done(): // from now on, calls that use the context end
	}
	grace := time.NewTimer(s.grace)
	defer grace.Stop()
	select {
	case <-done:
		return t.verdict()
	case <-grace.C:
		return &Failure{Case: c.name, Promise: c.promise, Detail: "the case did not end within " + s.limit.String() + ", and did not end when its context did"}
	}
}
