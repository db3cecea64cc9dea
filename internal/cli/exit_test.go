package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// Held, lost, unknown and unavailable never share an exit code, whatever they are wrapped in.
func TestOutcomesHaveCodesOfTheirOwn(t *testing.T) {
	t.Parallel()
	held := &rowlock.HeldError{Name: "job"}
	for want, errs := range map[int][]error{
		exitOK:          {nil},
		exitHeld:        {acquireFailure(held), acquireFailure(errors.Join(held, context.DeadlineExceeded)), inspectFailure(fmt.Errorf("x: %w", &driver.Held{}), exitUnknown)},
		exitUnavailable: {acquireFailure(errors.Join(rowlock.ErrUnavailable, context.Canceled)), inspectFailure(driver.Permanent(errors.New("x")), exitUnknown), inspectFailure(driver.NotApplied(errors.New("x")), exitUnknown), inspectFailure(errors.New("x"), exitUnavailable)},
		exitUnknown:     {inspectFailure(context.DeadlineExceeded, exitUnknown)},
		exitNotHeld:     {inspectFailure(fmt.Errorf("x: %w", driver.ErrNotHeld), exitUnknown)},
		exitUsage:       {usage("x"), acquireFailure(errors.New("rowlock: name is empty")), fmt.Errorf("x: %w", usage("y"))},
		exitInternal:    {errors.New("x")},
	} {
		for _, err := range errs {
			assert.Equal(t, want, exitCode(err), "%v", err)
		}
	}
}

// An explanation keeps the code.
func TestExplanationKeepsTheCode(t *testing.T) {
	t.Parallel()
	s := &store{at: location{shown: "sqlite:x"}}
	for _, code := range []int{exitHeld, exitNotHeld, exitUnknown, exitUnavailable, exitUsage} {
		assert.Equal(t, code, exitCode(s.explain(fail(code, "x"))))
	}
	assert.NoError(t, s.explain(nil))
}
