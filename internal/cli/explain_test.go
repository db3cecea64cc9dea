package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/internal/cli/exit"
)

// An explanation keeps the code.
func TestExplanationKeepsTheCode(t *testing.T) {
	t.Parallel()
	s := &store{at: location{shown: "sqlite:x"}}
	for _, code := range []int{exit.Held, exit.NotHeld, exit.Unknown, exit.Unavailable, exit.Usage} {
		assert.Equal(t, code, exit.Code(s.explain(exit.Failf(code, "x"))))
	}
	assert.NoError(t, s.explain(nil))
}
