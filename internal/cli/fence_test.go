package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/fence"
)

// Whether a mark was reset is told by the exit code, and one that may have been is told apart.
func TestNotReset(t *testing.T) {
	t.Parallel()
	for want, err := range map[int]error{
		exitNotHeld:     &fence.NoMarkError{Resource: "r", Seen: 7},
		exitUnavailable: &fence.SchemaError{Table: "t", Err: errors.New("no such table")},
		exitHeld:        errors.Join(fence.ErrRetry, context.DeadlineExceeded),
		exitUnknown:     context.DeadlineExceeded,
	} {
		got := notReset("the mark", fmt.Errorf("fence: reset: %w", err))
		assert.Equal(t, want, exitCode(got), "%v", got)
	}
}
