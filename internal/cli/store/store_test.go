package store

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/cli/exit"
)

// Explain does not change the exit code of an error.
func TestExplanationKeepsTheCode(t *testing.T) {
	t.Parallel()
	s := &Store{At: Location{Shown: "sqlite:x"}}
	for _, code := range []int{exit.Held, exit.NotHeld, exit.Unknown, exit.Unavailable, exit.Usage} {
		assert.Equal(t, code, exit.Code(s.Explain(exit.Failf(code, "x"))))
	}
	assert.NoError(t, s.Explain(nil))
}

// A suggested command can be pasted: it contains no masked password.
func TestSuggestedCommandsCanBePasted(t *testing.T) {
	t.Parallel()
	for store, want := range map[string]string{
		"postgres://u@db/app":        " --store postgres://u@db/app",
		"postgres://u:SECRET@db/app": ` --store "$ROWLOCK_STORE"`,
	} {
		s, err := openValue(t, store)
		require.NoError(t, err)
		assert.Equal(t, want, s.Flags())
		s.Close()
	}
}
