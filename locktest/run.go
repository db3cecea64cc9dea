package locktest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/oneline"
)

// settings are the limits of a run.
type settings struct {
	limit    time.Duration // of one case
	grace    time.Duration // for its end once the limit has passed
	patience time.Duration // for one thing that must happen
}

var usual = settings{limit: time.Minute, grace: 10 * time.Second, patience: 20 * time.Second}

// Run checks every promise in a subtest of its own, most of them in parallel unless the harness is
// [Solitary], against one harness.
// newHarness is called once; what it opens, it closes with tb.Cleanup.
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

// Check runs the cases of [Run] outside of go test and joins what they found: a [*Failure] for
// every promise that is broken, a [*NotRun] for every one that could not be checked. The store keeps
// every promise that the suite knows of when the error is nil, and breaks none that could be checked
// when errors.As finds no *Failure in it. ctx bounds the whole.
func Check(ctx context.Context, h Harness) error {
	if err := checkExemptions(h); err != nil {
		return err
	}
	return usual.check(ctx, h, cases())
}

// check runs those that are alone one by one, and the others a few at a time: they mostly wait.
func (s settings) check(ctx context.Context, h Harness, list []testCase) error {
	errs := make([]error, len(list))
	var together sync.WaitGroup
	places := make(chan struct{}, 4)
	for i, c := range list {
		if c.alone || solitary.has(h) {
			errs[i] = s.try(ctx, h, c)
		}
	}
	for i, c := range list {
		if c.alone || solitary.has(h) {
			continue
		}
		places <- struct{}{}
		together.Go(func() {
			errs[i] = s.try(ctx, h, c)
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
	case <-ctx.Done(): // whatever heeds its context ends now
	}
	grace := time.NewTimer(s.grace)
	defer grace.Stop()
	select {
	case <-done:
		return t.verdict()
	case <-grace.C:
		return &Failure{Case: c.name, Promise: c.promise, Detail: "the case did not end within " + s.limit.String() + ", nor when its context did"}
	}
}
