package terminal

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A drawn line fits into the terminal and does not move its cursor, whatever the name of the holder.
func TestFit(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"short": "short", "12345678": "12345678", "123456789": "1234567…", "ünïcödé!!": "ünïcödé…", "a\nb\x1b[2Jc": "a?b?[2Jc",
	} {
		assert.Equal(t, want, fit(line, 8))
	}
	assert.Equal(t, "…", fit("line", 0))
}
