package sqlbind_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/internal/sqlbind"
)

// Parameters are numbered from 1, also if there are more than nine.
func TestDollars(t *testing.T) {
	assert.Equal(t, "SELECT 1", sqlbind.Dollars("SELECT 1"))
	assert.Equal(t, "a = $1 AND b = $2", sqlbind.Dollars("a = ? AND b = ?"))
	assert.True(t, strings.HasSuffix(sqlbind.Dollars(strings.Repeat("?, ", 11)), "$10, $11, "))
}
