package system

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// If a variable occurs twice, Get returns the last value, which os/exec also passes to programs.
func TestEnvironmentTakesTheLast(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "2", Environment{"A=1", "A=2", "AB=3"}.Get("A"))
	assert.Empty(t, Environment{"A"}.Get("A"))
}
