package terminal

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/exit"
)

// No message contains a control character, even if another program has written one into a holder or a note in the
// store.
func TestMessagesHaveNoControlCharacters(t *testing.T) {
	t.Parallel()
	held := &rowlock.HeldError{Name: "job", Reason: driver.Leased, Holder: "h\x1b[2Jx", Note: "first\rsecond\nthird\u009b2J"}
	var text bytes.Buffer
	NewMessages(&text, FormatText, false).Fail(exit.OfAcquire(held))
	assert.Equal(t, `rowlock: "job" is held by "h\x1b[2Jx": "first\rsecond\nthird\u009b2J"`+"\n", text.String())
	text.Reset()
	NewMessages(&text, FormatText, false).Fail(errors.New("a driver's h\x1b[2Jx: first\rsecond\nthird\u009b2J\u202e"))
	assert.Equal(t, "rowlock: a driver's h?[2Jx: first; second; third?2J?\n", text.String())
}
