package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/cli/exit"
)

// After a failed reset, the exit code says whether the mark was not reset or may have been reset.
func TestNotReset(t *testing.T) {
	t.Parallel()
	for want, err := range map[int]error{
		exit.NotHeld:     &fence.NoMarkError{Resource: "r", Seen: 7},
		exit.Unavailable: &fence.SchemaError{Table: "t", Err: errors.New("no such table")},
		exit.Held:        errors.Join(fence.ErrRetry, context.DeadlineExceeded),
		exit.Unknown:     context.DeadlineExceeded,
	} {
		got := notReset("the mark", "", fmt.Errorf("fence: reset: %w", err))
		assert.Equal(t, want, exit.Code(got), "%v", got)
	}
}
