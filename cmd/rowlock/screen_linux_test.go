package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// While rowlock waits at a terminal, one line shows how long it has waited and who holds the lock. The next message
// replaces the line.
func TestWaitIsShownAtATerminal(t *testing.T) {
	t.Parallel()
	for _, waits := range []string{"wait job --timeout 7500ms", "run job --wait 7500ms -- true", "pause job --reason why --wait 7500ms"} {
		t.Run(waits, func(t *testing.T) {
			t.Parallel()
			user := login(t, `rowlock run job --holder me -- sh -c 'env -u ROWLOCK_LOCKS rowlock `+waits+`; echo "code $?"'`)
			user.sees("code 75")
			shown := user.seen.String()
			require.Contains(t, shown, `rowlock: waiting for up to 7.5s: "job" is held by me`)
			require.Regexp(t, "\r\x1b\\[Krowlock: waiting for [1-7]s: \"job\" is held by me", shown) // a slow machine may miss a second
			require.Contains(t, shown, "\r\x1b[Krowlock: \"job\" is held by me", "the line is cleared before the last message")
		})
	}
}

// At a terminal, ls --watch redraws the list in place until the interrupt key is pressed.
func TestListIsDrawnAgainAtATerminal(t *testing.T) {
	t.Parallel()
	user := login(t, `trap : INT; rowlock ls --watch --interval 100ms; echo "code $?"`)
	for range 3 {
		user.sees("\x1b[H\x1b[Jevery 100ms until interrupted, last at ")
		user.sees("NAME  STATE  HOLDER")
	}
	user.types("\x03")
	user.sees("code 130")
}
