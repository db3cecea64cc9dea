package terminal

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// odd contains characters that move the cursor, end the line and reverse the writing direction, and a shell command.
const odd = "a\x1b[2J\r\nb\u009b31m\u202ec\U000e0041 'd' \\$(touch${IFS}pwn)"

// Quoted leaves plain words unchanged, and quotes all other texts, so that a reader can see and type them.
func TestQuoted(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"job": "job", "tägliches/job": "tägliches/job", "": `""`, "a b": `"a b"`, "a\x1b[2J": `"a\x1b[2J"`, "x\n": `"x\n"`} {
		assert.Equal(t, want, Quoted(s))
	}
}

// If a text from ShellQuoted is pasted into a shell, the shell passes exactly the original text to the program,
// and executes no part of the text.
func TestShellQuotedIsOneWord(t *testing.T) {
	t.Parallel()
	for _, s := range []string{odd, "", "plain", "-", "$(touch${IFS}pwn)", "it's", "a b", "`id`", "ä€", "~", "a\nb", "a;b", "!!"} {
		words, err := exec.Command("bash", "-c", "printf '%s|' "+ShellQuoted(s)).Output()
		require.NoError(t, err)
		assert.Equal(t, s+"|", string(words), "%s", ShellQuoted(s))
	}
	assert.Equal(t, "plain-1.2/3", ShellQuoted("plain-1.2/3"))
	assert.False(t, strings.ContainsAny(ShellQuoted(odd), "\x1b\n\r\u009b\u202e"))
}
