package terminal

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The status line fits into the width of the terminal and contains no control characters, even if the holder's text
// does.
func TestFit(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"short": "short", "12345678": "12345678", "123456789": "1234567…", "ünïcödé!!": "ünïcödé…", "a\nb\x1b[2Jc": "a?b?[2Jc",
	} {
		assert.Equal(t, want, fit(line, 8))
	}
	assert.Equal(t, "…", fit("line", 0))
}
