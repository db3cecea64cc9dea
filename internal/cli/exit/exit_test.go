package exit

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// The errors held, lost, unknown and unavailable have four different exit codes, even if they are wrapped in other
// errors.
func TestOutcomesHaveCodesOfTheirOwn(t *testing.T) {
	t.Parallel()
	held := &rowlock.HeldError{Name: "job"}
	for want, errs := range map[int][]error{
		OK:          {nil},
		Held:        {OfAcquire(held), OfAcquire(errors.Join(held, context.DeadlineExceeded)), OfInspect(fmt.Errorf("x: %w", &driver.Held{}), Unknown)},
		Unavailable: {OfAcquire(errors.Join(rowlock.ErrUnavailable, context.Canceled)), OfInspect(driver.Permanent(errors.New("x")), Unknown), OfInspect(driver.NotApplied(errors.New("x")), Unknown), OfInspect(errors.New("x"), Unavailable)},
		Unknown:     {OfInspect(context.DeadlineExceeded, Unknown)},
		NotHeld:     {OfInspect(fmt.Errorf("x: %w", driver.ErrNotHeld), Unknown)},
		Usage:       {Usagef("x"), OfAcquire(errors.New("rowlock: name is empty")), fmt.Errorf("x: %w", Usagef("y"))},
		Internal:    {errors.New("x")},
	} {
		for _, err := range errs {
			assert.Equal(t, want, Code(err), "%v", err)
		}
	}
}
