package stdio

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/locktest"
)

// Check runs the cases of package locktest, and then the cases for the leases of the program itself, if the program
// has such leases. It calls report after each case, from one goroutine at a time. It returns the joined errors of the
// cases, as [locktest.Check] does. If the program cannot be started or does not answer, Check returns that error at
// once. If names are given, only the cases with these names run. ctx limits the whole run.
func Check(ctx context.Context, h *Harness, report func(locktest.Result), names ...string) error {
	b, err := h.Open(ctx)
	if err != nil {
		return err
	}
	c, err := h.client(b)
	if err == nil {
		err = h.CloseAll()
	}
	if err != nil {
		return err
	}
	return oneline.Join(locktest.CheckEach(ctx, h, report, names...), h.checkLeases(ctx, c.leases, report, names))
}

// leaseCase is one promise about the leases of the program.
type leaseCase struct {
	name    string
	promise string
	run     func(context.Context, *trial) error
}

// checkLeases runs the cases for leases at the same time, because they mostly wait.
func (h *Harness) checkLeases(ctx context.Context, leases bool, report func(locktest.Result), names []string) error {
	errs := make([]error, len(leaseCases))
	var together sync.WaitGroup
	var one sync.Mutex // report is called from one goroutine at a time
	for i, c := range leaseCases {
		if len(names) > 0 && !slices.Contains(names, c.name) {
			continue
		}
		together.Go(func() {
			r := locktest.Result{Case: c.name, Promise: c.promise}
			if leases {
				r.Took = timed(func() { r.Err = h.try(ctx, c) })
			} else {
				r.Err = &locktest.NotRun{Case: c.name, Promise: c.promise, Reason: "the program does not have the operations lock, trust and unlock"}
			}
			errs[i] = r.Err
			one.Lock()
			defer one.Unlock()
			report(r)
		})
	}
	together.Wait()
	return oneline.Join(errs...)
}

// try runs one case. The result is nil or a [*locktest.Failure].
func (h *Harness) try(ctx context.Context, c leaseCase) error {
	ctx, cancel := context.WithTimeout(ctx, caseLimit)
	defer cancel()
	t := &trial{harness: h}
	err := c.run(ctx, t)
	for _, b := range t.opened {
		if closed := h.Close(b); err == nil {
			err = closed
		}
	}
	if err == nil {
		return nil
	}
	return &locktest.Failure{Case: c.name, Promise: c.promise, Detail: err.Error()}
}

// Summary counts results.
type Summary struct{ Passed, Failed, NotRun int }

// Add counts one result.
func (s *Summary) Add(r locktest.Result) {
	var not *locktest.NotRun
	switch {
	case r.Err == nil:
		s.Passed++
	case errors.As(r.Err, &not):
		s.NotRun++
	default:
		s.Failed++
	}
}

// String returns the summary in one line.
func (s *Summary) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d not run", s.Passed, s.Failed, s.NotRun)
}
