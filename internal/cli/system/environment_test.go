package system

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Of duplicates in an environment the last one counts, as in the programs that get it.
func TestEnvironmentTakesTheLast(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "2", Environment{"A=1", "A=2", "AB=3"}.Get("A"))
	assert.Empty(t, Environment{"A"}.Get("A"))
}
