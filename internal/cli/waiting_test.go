package cli

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// A line that is drawn fits into the terminal and moves its cursor nowhere, whatever a holder calls himself.
func TestFit(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"short": "short", "12345678": "12345678", "123456789": "1234567…", "ünïcödé!!": "ünïcödé…", "a\nb\x1b[2Jc": "a?b?[2Jc",
	} {
		assert.Equal(t, want, fit(line, 8))
	}
	assert.Equal(t, "…", fit("line", 0))
}

// What somebody else has written into the store, a holder or a note, moves nobody's cursor: in text no message has
// a control character.
func TestMessagesHaveNoControlCharacters(t *testing.T) {
	t.Parallel()
	held := &rowlock.HeldError{Name: "job", Reason: driver.Leased, Holder: "h\x1b[2Jx", Note: "first\rsecond\nthird\u009b2J"}
	var text bytes.Buffer
	newMessages(&text, formatText, false).fail(acquireFailure(held))
	assert.Equal(t, `rowlock: "job" is held by "h\x1b[2Jx": "first\rsecond\nthird\u009b2J"`+"\n", text.String())
	text.Reset()
	newMessages(&text, formatText, false).fail(errors.New("a driver's h\x1b[2Jx: first\rsecond\nthird\u009b2J\u202e"))
	assert.Equal(t, "rowlock: a driver's h?[2Jx: first; second; third?2J?\n", text.String())
}
